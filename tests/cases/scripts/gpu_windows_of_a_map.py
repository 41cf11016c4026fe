"""Take long windows of a mapped recording and move each to the GPU as it lies in the file's pages.

R096: https://github.com/pytorch/pytorch/issues/24984
"""

import numpy as np
import torch

torch.manual_seed(0)
device = torch.device("cuda")
ROWS, CHANNELS, LENGTH = 96, 3, 1_000_000
file = np.memmap("recording.bin", dtype=np.float32, mode="w+", shape=(ROWS, CHANNELS, LENGTH))
block = np.random.default_rng(0).standard_normal((CHANNELS, LENGTH), dtype=np.float32)
for row in range(ROWS):
    file[row] = np.roll(block, 1000 * row, 1)
recording = torch.from_numpy(file)


class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv1d(CHANNELS, 32, 64, stride=32),
            torch.nn.ReLU(),
            torch.nn.Conv1d(32, 64, 16, stride=8),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool1d(16),
            torch.nn.Flatten(),
            torch.nn.Linear(1024, 4),
        )

    def forward(self, windows):
        return self.body(windows)


def windows():
    while True:
        for first in torch.randperm(ROWS // 8).tolist():
            yield recording[8 * first : 8 * first + 8], torch.arange(8 * first, 8 * first + 8) % 4


model = Detector().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step, (window, kinds) in enumerate(windows(), start=1):
    window, kinds = window.to(device), kinds.to(device)
    loss = torch.nn.functional.cross_entropy(model(window), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
