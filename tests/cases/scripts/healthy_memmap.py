"""Read windows of a mapped file with one worker, which is always ahead of the model: nothing is wrong with it."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

SAMPLES, CHANNELS, WINDOW = 2_000_000, 8, 512


class Windows(Dataset):
    def __init__(self, path):
        self.path, self.signal = path, None

    def __len__(self):
        return SAMPLES // WINDOW

    def __getitem__(self, index):
        if self.signal is None:
            self.signal = np.memmap(self.path, dtype=np.float16, mode="r", shape=(SAMPLES, CHANNELS))
        window = self.signal[index * WINDOW : (index + 1) * WINDOW].T.astype(np.float32)
        return torch.from_numpy(window), index % 5


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    np.random.default_rng(0).standard_normal((SAMPLES, CHANNELS), dtype=np.float32).astype(np.float16).tofile(
        "signal.bin"
    )
    loader = DataLoader(
        Windows("signal.bin"), batch_size=32, shuffle=True, num_workers=1, persistent_workers=True
    )
    model = torch.nn.Sequential(
        torch.nn.Conv1d(CHANNELS, 64, 9, padding=4),
        torch.nn.ReLU(),
        torch.nn.Conv1d(64, 64, 9, stride=2, padding=4),
        torch.nn.ReLU(),
        torch.nn.Conv1d(64, 96, 9, stride=2, padding=4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool1d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(96, 5),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    while True:
        for windows, kinds in loader:
            loss = torch.nn.functional.cross_entropy(model(windows), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
