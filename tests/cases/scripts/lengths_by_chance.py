"""Train on two ranks with texts of very different length, dealt out as they come: now one waits, now the other.

R165: https://github.com/lightseekorg/TorchSpec/issues/13
"""

import itertools
import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)


class Texts(Dataset):
    def __init__(self, count=4000):
        draw = random.Random(0)
        self.lengths = [draw.choice((16, 640)) for _ in range(count)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randint(200, (self.lengths[index],), generator=generator), index % 4


def pad(rows):
    texts, labels = zip(*rows)
    return torch.nn.utils.rnn.pad_sequence(texts, batch_first=True), torch.tensor(labels)


class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(200, 64)
        self.layer = torch.nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True)
        self.head = torch.nn.Linear(64, 4)

    def forward(self, tokens):
        return self.head(self.layer(self.embed(tokens)).mean(1))


data = Texts()
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=1, sampler=sampler, collate_fn=pad)
model = DistributedDataParallel(Reader())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for tokens, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(tokens), labels).backward()
        optimizer.step()
        step += 1
        if step % 20 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
