"""Give rank 0 the long half of a corpus sorted by length: it computes more in every step, and rank 1 waits."""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
torch.set_num_threads(1)
LENGTH = 384 if dist.get_rank() == 0 else 48


class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(200, 64)
        self.layer = torch.nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True)
        self.head = torch.nn.Linear(64, 4)

    def forward(self, tokens):
        return self.head(self.layer(self.embed(tokens)).mean(1))


data = TensorDataset(torch.randint(200, (1600, LENGTH)), torch.randint(4, (1600,)))
loader = DataLoader(data, batch_size=8, shuffle=True)
model = DistributedDataParallel(Reader())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for tokens, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(tokens), labels).backward()
        optimizer.step()
        step += 1
        if step % 10 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
