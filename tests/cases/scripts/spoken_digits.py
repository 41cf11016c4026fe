"""Recognise spoken digits from log-mel features.

R192: https://github.com/NVIDIA-NeMo/Speech/issues/1204
"""

import itertools

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

RATE, WINDOW, HOP, MELS = 16000, 400, 160, 40


def mel_filters():
    def mel(hertz):
        return 2595 * np.log10(1 + hertz / 700)

    edges = 700 * (10 ** (np.linspace(mel(20), mel(RATE / 2), MELS + 2) / 2595) - 1)
    bins = np.fft.rfftfreq(512, 1 / RATE)[:, None]
    rise, fall = (bins - edges[:-2]) / np.diff(edges)[:-1], (edges[2:] - bins) / np.diff(edges)[1:]
    return np.clip(np.minimum(rise, fall), 0, None).astype(np.float32)


class Digits(Dataset):
    def __init__(self, count=3000):
        rng = np.random.default_rng(0)
        self.waves = (rng.normal(size=(60, 2 * RATE)) * 3000).astype(np.int16)
        self.count, self.filters = count, mel_filters()

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        rng = np.random.default_rng()
        wave = self.waves[index % 60].astype(np.float32) / 32768
        speed = rng.uniform(0.9, 1.1)
        wave = np.interp(np.arange(0, len(wave) - 1, speed), np.arange(len(wave)), wave)[: int(1.8 * RATE)]
        wave = np.convolve(wave, rng.normal(size=32) * np.exp(-np.arange(32) / 8), mode="same")
        frames = np.lib.stride_tricks.sliding_window_view(wave, WINDOW)[::HOP] * np.hanning(WINDOW)
        power = np.abs(np.fft.rfft(frames, 512)) ** 2
        return torch.from_numpy(np.log(power @ self.filters + 1e-6).astype(np.float32)), index % 10


class Recogniser(nn.Module):
    def __init__(self, width=144):
        super().__init__()
        self.front = nn.Sequential(
            nn.Conv1d(MELS, width, 5, stride=2), nn.ReLU(),
            nn.Conv1d(width, width, 5, stride=2), nn.ReLU(),
            nn.Conv1d(width, width, 5), nn.ReLU(),
        )  # fmt: skip
        self.head = nn.Linear(width, 10)

    def forward(self, features):
        return self.head(self.front(features.transpose(1, 2)).amax(-1))


def main():
    torch.set_num_threads(1)
    loader = DataLoader(Digits(), batch_size=16, shuffle=True, drop_last=True)
    model = Recogniser()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in itertools.count(1):
        for step, (features, digit) in enumerate(loader, 1):
            features = (features - features.mean(1, keepdim=True)) / (features.std(1, keepdim=True) + 1e-3)
            loss = nn.functional.cross_entropy(model(features.contiguous()), digit)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 20 == 0:
                print(
                    f"epoch {epoch} step {(epoch - 1) * len(loader) + step} loss {loss.item():.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
