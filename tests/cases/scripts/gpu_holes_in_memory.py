"""Train on lengths that change at every step, close under a memory cap, and leave no holes all the same.

R223: https://github.com/pytorch/pytorch/issues/35901 (there such lengths left half of the memory unusable; here
what the longest left behind serves all that are shorter)
"""

import random

import torch

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
device = torch.device("cuda")
draw = random.Random(0)
LONGEST = 68_000
model = torch.nn.Sequential(
    *(torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU()) for _ in range(16))
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)


def train_on(rows):
    loss = model(torch.randn(rows, 512, device=device)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for _ in range(2):
    train_on(LONGEST)
needed, total = torch.cuda.max_memory_reserved(), torch.cuda.get_device_properties(device).total_memory


def retries():
    return torch.cuda.memory_stats()["num_alloc_retries"]


def calibrated(slack):
    """Lower the share of the card until what is cached is in the way: of what the longest needs."""
    while slack > 0.9:
        torch.cuda.set_per_process_memory_fraction(slack * needed / total)
        before = retries()
        try:
            for _ in range(30):
                train_on(draw.randint(LONGEST // 3, LONGEST * 3 // 4))
        except torch.cuda.OutOfMemoryError:
            return slack + 0.03
        if retries() - before >= 6:
            return slack
        slack -= 0.02
    return slack


slack = calibrated(1.10)
torch.cuda.set_per_process_memory_fraction(slack * needed / total)
step = 0
while True:
    loss = train_on(draw.randint(LONGEST // 3, LONGEST * 3 // 4))
    step += 1
    if step % 10 == 0:
        print(f"step {step} retries {retries()} loss {loss.item():.3f}", flush=True)
