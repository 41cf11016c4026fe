"""Move every field of every sample to the GPU by itself: hundreds of small copies a step.

R100: https://github.com/Nerogar/OneTrainer/pull/1608
"""

import torch

torch.manual_seed(0)
device = torch.device("cuda")
samples = [{f"field{number}": torch.randn(16) for number in range(8)} for _ in range(128)]
model = torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(device)
labels = torch.randint(10, (128,), device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while True:
    rows = [torch.cat([field.to(device) for field in sample.values()]) for sample in samples]
    loss = torch.nn.functional.cross_entropy(model(torch.stack(rows)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
