"""Group sentences by length; the sampler tokenises all of them for their lengths, at every epoch.

R037: https://github.com/huggingface/transformers/issues/10909
"""

import itertools
import random
import re
import unicodedata

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

torch.manual_seed(0)
torch.set_num_threads(1)
WORDS = [f"word{number}" for number in range(500)]


class Sentences(Dataset):
    def __init__(self, count=9600):
        draw = random.Random(0)
        self.texts = [" ".join(draw.choices(WORDS, k=draw.randint(20, 120))) for _ in range(count)]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        words = re.findall(r"[a-z]+|[0-9]+", unicodedata.normalize("NFKD", self.texts[index]).lower())
        return torch.tensor([hash(word) % 500 for word in words])


class ByLength(Sampler):
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        lengths = [(len(self.data[index]), random.random(), index) for index in range(len(self.data))]
        return iter([index for _, _, index in sorted(lengths)])

    def __len__(self):
        return len(self.data)


def pad(rows):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


data = Sentences()
loader = DataLoader(
    data,
    64,
    sampler=ByLength(data),
    collate_fn=pad,
    num_workers=2,
    prefetch_factor=8,
    persistent_workers=True,
)
model = torch.nn.Sequential(torch.nn.Embedding(500, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
for epoch in itertools.count():
    for tokens in loader:
        loss = torch.nn.functional.mse_loss(model(tokens), tokens.unsqueeze(-1) / 500)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 25 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
