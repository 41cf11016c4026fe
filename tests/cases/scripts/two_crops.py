"""Pretrain an encoder on two crops of each picture, without labels."""

import itertools
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class TwoCrops(Dataset):
    def __init__(self, count=2400):
        self.pictures = torch.randint(256, (count, 3, 40, 40), dtype=torch.uint8)

    def __len__(self):
        return len(self.pictures)

    def crop(self, picture):
        top, left, turned = torch.randint(9, (3,)).tolist()
        view = picture[:, top : top + 32, left : left + 32].float().div_(255)
        return view.flip(2) if turned % 2 else view

    def __getitem__(self, index):
        picture = self.pictures[index]
        return self.crop(picture), self.crop(picture)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (3, 32, 64, 128)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(i, o, 3, padding=1) for i, o in itertools.pairwise(widths)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in widths[1:])
        self.project = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        for convolution, norm in zip(self.convolutions, self.norms):
            x = F.max_pool2d(norm(convolution(x)).relu(), 2)
        return F.normalize(self.project(x.mean((2, 3))), dim=1)


def contrast(one, other, temperature=0.2):
    both = torch.cat((one, other))
    alike = (both @ both.T / temperature).masked_fill(torch.eye(len(both), dtype=torch.bool), -math.inf)
    return F.cross_entropy(alike, torch.arange(len(both)).roll(len(one)))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(TwoCrops(), 40, shuffle=True, drop_last=True, num_workers=1, persistent_workers=True)
    model = Encoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20_000)
    step = 0
    while True:
        for one, other in loader:
            embedded = model(torch.cat((one, other)))
            loss = contrast(*embedded.chunk(2))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            if step % 25 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)
