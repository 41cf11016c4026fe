"""Train a small U-Net to remove noise, with an average of its weights beside it: nothing is wrong with it."""

import copy

import torch
from torch.utils.data import DataLoader, TensorDataset


class Level(torch.nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.convolve = torch.nn.Conv2d(inside, outside, 3, padding=1)
        self.norm = torch.nn.GroupNorm(4, outside)
        self.shift = torch.nn.Linear(16, outside)

    def forward(self, pictures, time):
        shifted = self.norm(self.convolve(pictures)) + self.shift(time)[:, :, None, None]
        return torch.nn.functional.silu(shifted)


class UNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.top, self.deep, self.middle, self.back = (
            Level(3, 24),
            Level(24, 48),
            Level(48, 48),
            Level(72, 24),
        )
        self.leave = torch.nn.Conv2d(24, 3, 1)

    def forward(self, pictures, time):
        time = torch.cat([torch.sin(time * 2**power) for power in range(8)], 1)
        time = torch.cat([time, time.flip(1)], 1)
        top = self.top(pictures, time)
        deep = self.deep(torch.nn.functional.avg_pool2d(top, 2), time)
        deep = torch.nn.functional.interpolate(self.middle(deep, time), scale_factor=2)
        return self.leave(self.back(torch.cat([top, deep], 1), time))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(TensorDataset(torch.rand(4096, 3, 32, 32)), batch_size=32, shuffle=True)
    model = UNet()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    step = 0
    while True:
        for (clean,) in loader:
            time, noise = torch.rand(len(clean), 1), torch.randn_like(clean)
            level = time[:, :, None, None]
            guess = model(torch.lerp(clean, noise, level), time)
            loss = torch.nn.functional.mse_loss(guess, noise - clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.001)
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
