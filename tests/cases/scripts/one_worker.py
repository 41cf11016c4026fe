"""Train on noisy spectrograms with one worker, which cannot keep up.

R004: https://github.com/mlfoundations/open_clip/issues/13
"""

import itertools

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
SIZES = (400, 512, 1024, 2048)


class Sounds(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, index):
        draw = np.random.default_rng(index)
        wave = draw.standard_normal(16000).astype(np.float32)
        frames = np.lib.stride_tricks.sliding_window_view(wave, 400)[::80] * np.hanning(400)
        power = sum(np.abs(np.fft.rfft(frames, size))[:, :201] ** 2 for size in SIZES)
        return torch.from_numpy(np.log1p(power).astype(np.float32)), index % 10


loader = DataLoader(Sounds(), batch_size=32, shuffle=True, num_workers=1, persistent_workers=True)
model = torch.nn.Sequential(
    torch.nn.Linear(201, 64), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(196 * 64, 10)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
step = 0
for epoch in itertools.count():
    for spectra, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(spectra), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
