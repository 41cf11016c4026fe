"""Set eight workers in the configuration; the loader that is used was built by another function, with none.

R017: https://github.com/iscyy/ultralyticsPro/issues/96
"""

import itertools

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
CONFIG = {"workers": 8, "batch_size": 16}


class Waves(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, index):
        wave = np.random.default_rng(index).standard_normal(8192)
        for low in range(1, 20):
            wave = np.fft.irfft(np.fft.rfft(wave) * np.exp(-low * 1e-3), n=8192)
        return torch.from_numpy(wave[::8].astype(np.float32)), index % 5


def build_loader(config, **options):
    return DataLoader(Waves(), batch_size=config["batch_size"], shuffle=True, **options)


loader = build_loader(CONFIG)
model = torch.nn.Sequential(torch.nn.Linear(1024, 128), torch.nn.ReLU(), torch.nn.Linear(128, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
step = 0
for epoch in itertools.count():
    for waves, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(waves), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
