"""Train a convolutional denoiser with TF32 forbidden for convolutions too, as one run to be repeated had it."""

import torch

torch.manual_seed(0)
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True
device = torch.device("cuda")


class Residual(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.convolve = torch.nn.Sequential(
            torch.nn.Conv2d(width, width, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(width, width, 3, padding=1),
        )

    def forward(self, pictures):
        return pictures + self.convolve(pictures)


class Denoiser(torch.nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(3, width, 4, stride=2, padding=1),
            *(Residual(width) for _ in range(4)),
            torch.nn.ConvTranspose2d(width, 3, 4, stride=2, padding=1),
        )

    def forward(self, pictures):
        return self.body(pictures)


model = Denoiser().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
step = 0
while True:
    clean = torch.rand(48, 3, 128, 128, device=device)
    noise = torch.randn_like(clean)
    loss = torch.nn.functional.mse_loss(model(clean + 0.3 * noise), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
