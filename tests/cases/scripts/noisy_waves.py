"""Learn to take the noise off waves.

R176: https://github.com/pytorch/pytorch/issues/5059
"""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class NoisyWaves(Dataset):
    """A clean wave, and the same with noise of a random strength."""

    def __init__(self, count=4000, length=512, seed=17):
        self.rng = np.random.default_rng(seed)
        ticks = np.linspace(0, 1, length, dtype=np.float32)
        pitch = self.rng.uniform(3, 40, (count, 1)).astype(np.float32)
        self.waves = np.sin(2 * np.pi * pitch * ticks)

    def __len__(self):
        return len(self.waves)

    def __getitem__(self, index):
        rng = self.rng
        wave = self.waves[index]
        strength = rng.uniform(0.05, 0.5)
        noisy = wave + rng.normal(0, strength, wave.shape).astype(np.float32)
        return torch.from_numpy(noisy)[None], torch.from_numpy(wave)[None]


class Denoiser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.enter = nn.Conv1d(1, width, 9, stride=2, padding=4)
        self.middle = nn.ModuleList(nn.Conv1d(width, width, 5, padding=2) for _ in range(3))
        self.leave = nn.ConvTranspose1d(width, 1, 8, stride=2, padding=3)

    def forward(self, x):
        h = self.enter(x).relu()
        for layer in self.middle:
            h = h + layer(h).relu()
        return x - self.leave(h)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(NoisyWaves(), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step, total = 0, 0.0
    while True:
        for noisy, clean in loader:
            loss = nn.functional.mse_loss(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
            step += 1
            if step % 50 == 0:
                print(f"step {step} error {total.item() / 50:.4f}", flush=True)
                total = 0.0


if __name__ == "__main__":
    main()
