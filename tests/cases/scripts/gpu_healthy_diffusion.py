"""Train a residual denoiser in bf16, channels last, compiled by nothing, on large batches: nothing is wrong with it."""

import torch

torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
torch.set_float32_matmul_precision("high")
device = torch.device("cuda")


class Residual(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Conv2d(width, width, 3, padding=1)
        self.second = torch.nn.Conv2d(width, width, 3, padding=1)

    def forward(self, pictures):
        return pictures + self.second(torch.relu(self.first(pictures)))


model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 256, 4, stride=4),
    *(Residual(256) for _ in range(8)),
    torch.nn.ConvTranspose2d(256, 3, 4, stride=4),
).to(device, memory_format=torch.channels_last)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
total = torch.zeros((), device=device)
step = 0
while True:
    clean = torch.rand(128, 3, 128, 128, device=device).contiguous(memory_format=torch.channels_last)
    noise = torch.randn_like(clean)
    with torch.autocast("cuda", torch.bfloat16):
        loss = torch.nn.functional.mse_loss(model(clean + 0.3 * noise), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {total.item() / 20:.4f}", flush=True)
        total.zero_()
