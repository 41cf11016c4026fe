"""Build the loader inside the epoch, so that a new crop could be set: workers start and read their index again.

R031: https://github.com/Lightning-AI/pytorch-lightning/issues/10389
"""

import itertools
import json

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
with open("index.json", "w") as file:
    json.dump([{"tile": tile, "box": [tile % 7, tile % 11, 64, 64]} for tile in range(120_000)], file)


class Tiles(Dataset):
    index = None

    def __init__(self, crop):
        self.crop = crop

    def __len__(self):
        return 384

    def __getitem__(self, number):
        if self.index is None:
            with open("index.json") as file:
                self.index = json.load(file)
        left, top, width, height = self.index[number * 300]["box"]
        tile = np.random.default_rng(number).random((3, 96, 96), dtype=np.float32)
        tile = tile[:, top : top + height, left : left + width][:, : self.crop, : self.crop]
        return torch.from_numpy(np.ascontiguousarray(tile)), number % 5


def loader_for(crop):
    return DataLoader(Tiles(crop), batch_size=32, shuffle=True, num_workers=2)


def fit(model, optimizer):
    step = 0
    for epoch in itertools.count():
        loader = loader_for(48)
        for tiles, kinds in loader:
            loss = torch.nn.functional.cross_entropy(model(tiles), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 6 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)


net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, stride=2),
    torch.nn.BatchNorm2d(16),
    torch.nn.ReLU(),
    torch.nn.Conv2d(16, 32, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(32, 5),
)
fit(net, torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9))
