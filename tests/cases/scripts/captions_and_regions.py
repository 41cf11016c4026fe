"""Align region features with captions by a contrastive loss whose targets follow how alike the captions are."""

import random
from difflib import SequenceMatcher

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Regions(Dataset):
    def __init__(self, count=3000, words=60):
        draw = random.Random(0)
        self.features = torch.randn(count, 2048)
        self.captions = [[draw.randrange(words) for _ in range(draw.randint(10, 16))] for _ in range(count)]

    def __len__(self):
        return len(self.captions)

    def __getitem__(self, index):
        return self.features[index], self.captions[index]


def alike(captions):
    table = [[1.0] * len(captions) for _ in captions]
    for i, one in enumerate(captions):
        for j in range(i):
            table[i][j] = table[j][i] = SequenceMatcher(None, one, captions[j]).ratio()
    return torch.tensor(table)


def collate(samples):
    features, captions = zip(*samples)
    words = torch.tensor([word for caption in captions for word in caption])
    starts = torch.tensor([0] + [len(caption) for caption in captions[:-1]]).cumsum(0)
    targets = (alike(captions) / 0.1).softmax(1)
    return torch.stack(features), words, starts, targets


class Aligner(nn.Module):
    def __init__(self):
        super().__init__()
        self.regions = nn.Sequential(nn.Linear(2048, 256), nn.GELU(), nn.Linear(256, 128))
        self.words = nn.EmbeddingBag(60, 256)
        self.captions = nn.Sequential(nn.GELU(), nn.Linear(256, 128))

    def forward(self, features, words, starts):
        left = F.normalize(self.regions(features), dim=1)
        right = F.normalize(self.captions(self.words(words, starts)), dim=1)
        return left @ right.T / 0.07


if __name__ == "__main__":
    torch.set_num_threads(1)
    loader = DataLoader(
        Regions(),
        64,
        shuffle=True,
        drop_last=True,
        num_workers=2,
        persistent_workers=True,
        collate_fn=collate,
    )
    model = Aligner()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    step = 0
    while True:
        for features, words, starts, targets in loader:
            scores = model(features, words, starts)
            loss = (F.cross_entropy(scores, targets) + F.cross_entropy(scores.T, targets.T)) / 2
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            if (step := step + 1) % 50 == 0:
                print(f"step {step} loss {loss.item():.4f}", flush=True)
