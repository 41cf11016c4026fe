"""Fill the card to its last few hundred MiB with a cache of samples, and train beside it, steadily."""

import torch

torch.manual_seed(0)
device = torch.device("cuda")
model = torch.nn.Sequential(torch.nn.Linear(2048, 8192), torch.nn.GELU(), torch.nn.Linear(8192, 2048)).to(
    device
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


def train_on(rows):
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(rows).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for _ in range(3):
    train_on(torch.randn(16384, 2048, device=device))
free, _ = torch.cuda.mem_get_info()
cache = torch.randn((free - (700 << 20)) // (4 * 2048), 2048, device=device)
step = 0
while True:
    start = step * 16384 % (len(cache) - 16384)
    loss = train_on(cache[start : start + 16384])
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
