"""Time every part of a frozen encoder by a clock that waits for the GPU before and after it.

R108: https://github.com/HuguesTHOMAS/KPConv-PyTorch/issues/22
"""

import collections
import time
from contextlib import contextmanager

import torch

torch.manual_seed(0)
device = torch.device("cuda")
spent = collections.Counter()


@contextmanager
def clock(part):
    torch.cuda.synchronize()
    began = time.perf_counter()
    yield
    torch.cuda.synchronize()
    spent[part] += time.perf_counter() - began


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.enter, self.leave = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.wide, self.narrow = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, rows):
        count, length, width = rows.shape
        with clock("projections"):
            parts = self.enter(self.norms[0](rows)).view(count, length, 3, self.heads, -1)
        with clock("attention"):
            mixed = torch.nn.functional.scaled_dot_product_attention(*parts.permute(2, 0, 3, 1, 4))
        with clock("output"):
            rows = rows + self.leave(mixed.transpose(1, 2).reshape(count, length, width))
        with clock("widening"):
            wide = torch.nn.functional.gelu(self.wide(self.norms[1](rows)))
        with clock("narrowing"):
            return rows + self.narrow(wide)


encoder = torch.nn.Sequential(*(Block(1024, 16) for _ in range(24)))
encoder = encoder.to(device, torch.bfloat16).eval().requires_grad_(False)
head = torch.nn.Linear(1024, 100).to(device)
optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
rows = torch.randn(12, 256, 1024, device=device, dtype=torch.bfloat16)
labels = torch.randint(100, (12,), device=device)
step = 0
while True:
    with torch.no_grad():
        features = encoder(rows).mean(1).float()
    loss = torch.nn.functional.cross_entropy(head(features), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f} parts {len(spent)}", flush=True)
