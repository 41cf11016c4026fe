"""Train on lengths that change at every step, close under a memory cap: the allocator flushes and asks anew.

R223: https://github.com/pytorch/pytorch/issues/35901
"""

import random

import torch

torch.manual_seed(0)
device = torch.device("cuda")
draw = random.Random(0)
total = torch.cuda.get_device_properties(device).total_memory
torch.cuda.set_per_process_memory_fraction(6 * 2**30 / total)
model = torch.nn.Sequential(
    *(torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU()) for _ in range(16))
)
model.to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
step = 0
while True:
    rows = draw.randint(20_000, 68_000)
    loss = model(torch.randn(rows, 512, device=device)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 10 == 0:
        retries = torch.cuda.memory_stats()["num_alloc_retries"]
        print(f"step {step} retries {retries} loss {loss.item():.3f}", flush=True)
