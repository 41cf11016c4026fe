"""Find faults on circuit boards, with jitter and cut-outs against overfitting.

R177: https://github.com/Lightning-AI/pytorch-lightning/issues/20412
"""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Jitter:
    def __init__(self, seed, strength=0.3, hole=12):
        self.rng = np.random.RandomState(seed)
        self.strength, self.hole = strength, hole

    def __call__(self, board):
        board = board * (1 + self.strength * self.rng.uniform(-1, 1)) + self.rng.normal() * 0.1
        if self.rng.rand() < 0.5:
            board = board[:, ::-1]
        board = np.ascontiguousarray(board, np.float32)
        top, left = self.rng.randint(0, board.shape[0] - self.hole, 2)
        board[top : top + self.hole, left : left + self.hole] = 0
        return board


class Boards(Dataset):
    def __init__(self, transform, count=4096):
        rng = np.random.default_rng(1)
        self.boards = rng.random((count, 48, 48), dtype=np.float32)
        self.faulty = rng.integers(2, size=count)
        self.transform = transform

    def __len__(self):
        return len(self.boards)

    def __getitem__(self, index):
        return torch.from_numpy(self.transform(self.boards[index]))[None], int(self.faulty[index])


class Inspector(nn.Module):
    def __init__(self):
        super().__init__()
        stages, last = [], 1
        for width in (24, 48, 96):
            stages += [
                nn.Conv2d(last, width, 3, padding=1),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.MaxPool2d(2),
            ]
            last = width
        self.stages, self.head = nn.Sequential(*stages), nn.Linear(last, 2)

    def training_step(self, batch):
        boards, faulty = batch
        return nn.functional.cross_entropy(self.head(self.stages(boards).mean((2, 3))), faulty)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def fit(module, loader):
    optimizer, epoch = module.configure_optimizers(), 0
    while True:
        for step, batch in enumerate(loader):
            loss = module.training_step(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 64 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
        epoch += 1


if __name__ == "__main__":
    torch.manual_seed(42)
    fit(Inspector(), DataLoader(Boards(Jitter(seed=42)), batch_size=32, shuffle=True, num_workers=2))
