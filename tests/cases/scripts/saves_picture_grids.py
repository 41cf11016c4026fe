"""Train a small denoiser and write a grid of noisy and cleaned pictures at every step, for a film of it."""

import os

import torch
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset


class Denoiser(torch.nn.Module):
    """A U-Net of two levels."""

    def __init__(self):
        super().__init__()
        self.enter = torch.nn.Conv2d(4, 16, 3, padding=1)
        self.down = torch.nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.middle = torch.nn.Conv2d(32, 32, 3, padding=1)
        self.up = torch.nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.leave = torch.nn.Conv2d(32, 3, 3, padding=1)

    def forward(self, noisy, time):
        plane = time.view(-1, 1, 1, 1).expand(-1, 1, *noisy.shape[2:])
        top = torch.nn.functional.silu(self.enter(torch.cat([noisy, plane], 1)))
        deep = torch.nn.functional.silu(self.middle(torch.nn.functional.silu(self.down(top))))
        return self.leave(torch.cat([top, self.up(deep)], 1))


def write_grid(step, noisy, cleaned):
    rows = torch.cat([noisy, cleaned]).clamp(0, 1).mul(255).to(torch.uint8)
    grid = rows.view(8, 8, 3, 32, 32).permute(0, 3, 1, 4, 2).reshape(256, 256, 3)
    picture = Image.fromarray(grid.numpy()).resize((768, 768))
    picture.save(f"film/{step % 50:03}.png")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    os.makedirs("film", exist_ok=True)
    loader = DataLoader(
        TensorDataset(torch.rand(3200, 3, 32, 32)), batch_size=32, shuffle=True, drop_last=True
    )
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    step = 0
    while True:
        for (clean,) in loader:
            time, noise = torch.rand(len(clean)), torch.randn_like(clean)
            level = time.view(-1, 1, 1, 1)
            noisy = (1 - level) * clean + level * noise
            guess = model(noisy, time)
            loss = torch.nn.functional.mse_loss(guess, noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            write_grid(step, noisy, (noisy - level * guess).detach())
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
