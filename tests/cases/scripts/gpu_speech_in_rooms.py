"""Train a keyword network on ten-second recordings placed into simulated rooms with background voices."""

import itertools
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SECONDS, RATE, MELS, SIZE = 10, 16_000, 80, 2**18
torch.manual_seed(0)
ROOMS = torch.randn(50, RATE) * torch.exp(-torch.arange(RATE) / 2000)
VOICES = torch.randn(40, SECONDS * RATE)
FILTERS = torch.rand(MELS, 257)
WINDOW = torch.hann_window(400)


def reverberate(wave):
    room = ROOMS[torch.randint(len(ROOMS), ())].to(wave.device)
    return torch.fft.irfft(torch.fft.rfft(wave, SIZE) * torch.fft.rfft(room, SIZE), SIZE)[
        ..., : wave.shape[-1]
    ]


def corrupt(wave):
    wave = reverberate(wave)
    for _ in range(2):
        voice = VOICES[torch.randint(len(VOICES), ())].to(wave.device)
        wave = wave + 0.1 * torch.rand(()).item() * reverberate(voice)
    return wave


def features(wave):
    spectrum = torch.stft(wave, 512, 160, 400, WINDOW.to(wave.device), return_complex=True).abs().square()
    return torch.log(FILTERS.to(wave.device) @ spectrum + 1e-6)


class Recordings(Dataset):
    def __init__(self, count=400):
        self.waves = torch.randn(count, SECONDS * RATE)

    def __len__(self):
        return 64 * 400

    def __getitem__(self, index):
        return features(corrupt(self.waves[index % len(self.waves)])), index % 35


def convolve(before, after, stride):
    return nn.Sequential(nn.Conv1d(before, after, 5, stride, 2), nn.BatchNorm1d(after), nn.GELU())


def main():
    device = torch.device("cuda")
    loader = DataLoader(
        Recordings(), 64, True, num_workers=os.cpu_count(), pin_memory=True, persistent_workers=True
    )
    stages = [convolve(MELS, 256, 2), *(convolve(256, 256, 1) for _ in range(6)), convolve(256, 512, 2)]
    model = nn.Sequential(*stages, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(512, 35)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    for epoch in itertools.count():
        for number, batch in enumerate(loader):
            sounds, labels = (part.to(device, non_blocking=True) for part in batch)
            with torch.autocast("cuda", torch.bfloat16):
                loss = nn.functional.cross_entropy(model(sounds), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if number % 20 == 0:
                print(f"epoch {epoch} step {epoch * len(loader) + number} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
