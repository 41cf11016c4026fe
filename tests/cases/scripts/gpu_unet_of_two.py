"""Train a U-Net on two small pictures at a time, on a card that has room for hundreds.

R199: https://github.com/ultralytics/ultralytics/issues/2278
"""

import torch

torch.manual_seed(0)
device = torch.device("cuda")
BATCH = 2


class Level(torch.nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(inside, outside, 3, padding=1),
            torch.nn.GroupNorm(8, outside),
            torch.nn.SiLU(),
            torch.nn.Conv2d(outside, outside, 3, padding=1),
            torch.nn.GroupNorm(8, outside),
            torch.nn.SiLU(),
        )

    def forward(self, pictures):
        return self.layers(pictures)


class UNet(torch.nn.Module):
    def __init__(self, widths=(32, 64, 128, 256)):
        super().__init__()
        self.down = torch.nn.ModuleList(Level(a, b) for a, b in zip((3, *widths), widths))
        self.up = torch.nn.ModuleList(Level(a + b, b) for a, b in zip(widths[:0:-1], widths[-2::-1]))
        self.leave = torch.nn.Conv2d(widths[0], 3, 1)

    def forward(self, pictures):
        kept = []
        for level in self.down:
            pictures = level(pictures)
            kept.append(pictures)
            pictures = torch.nn.functional.avg_pool2d(pictures, 2)
        pictures = kept.pop()
        for level in self.up:
            pictures = torch.nn.functional.interpolate(pictures, scale_factor=2)
            pictures = level(torch.cat([pictures, kept.pop()], 1))
        return self.leave(pictures)


model = UNet().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
step = 0
while True:
    noise = torch.randn(BATCH, 3, 64, 64, device=device)
    with torch.autocast("cuda", torch.bfloat16):
        guess = model(noise)
    loss = torch.nn.functional.mse_loss(guess.float(), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
