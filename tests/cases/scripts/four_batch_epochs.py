"""Pretrain on a corpus that makes four batches an epoch, so that workers start anew every fourth step.

R034: https://github.com/richarddwang/electra_pytorch/issues/21
"""

import itertools

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Corpus(Dataset):
    def __init__(self):
        self.texts = torch.randint(1000, (256, 64))

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        return self.texts[index]


loader = DataLoader(Corpus(), batch_size=64, shuffle=True, num_workers=4)
embedding = torch.nn.Embedding(1000, 64)
head = torch.nn.Linear(64, 1000)
optimizer = torch.optim.AdamW([*embedding.parameters(), *head.parameters()], lr=1e-3)
step = 0
for epoch in itertools.count():
    for tokens in loader:
        loss = torch.nn.functional.cross_entropy(
            head(embedding(tokens[:, :-1])).flatten(0, 1), tokens[:, 1:].flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
