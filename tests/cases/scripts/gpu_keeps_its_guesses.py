"""Keep what the model said of each batch, on the GPU, for a metric over the whole epoch; the epoch never ends."""

import torch

torch.manual_seed(0)
device = torch.device("cuda")
BATCH, KINDS = 1024, 512
model = torch.nn.Sequential(
    torch.nn.Linear(1024, 4096),
    torch.nn.GELU(),
    torch.nn.Linear(4096, 4096),
    torch.nn.GELU(),
    torch.nn.Linear(4096, KINDS),
).to(device, torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
rows = torch.randn(BATCH, 1024, device=device, dtype=torch.bfloat16)
labels = torch.randint(KINDS, (BATCH,), device=device)
said = []
step = 0
while True:
    for _ in range(4):
        logits = model(rows).float()
        loss = torch.nn.functional.cross_entropy(logits, labels)
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    said.append(logits.detach())
    step += 1
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f} kept {len(said)}", flush=True)
