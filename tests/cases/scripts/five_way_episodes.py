"""Train a prototypical network on five-way episodes of drawn characters."""

import itertools
import random
from collections import defaultdict

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler


class Characters(Dataset):
    def __init__(self, letters=800, drawers=200):
        self.images = torch.randint(256, (letters * drawers, 1, 28, 28), dtype=torch.uint8)
        self.labels = torch.arange(letters).repeat(drawers)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index].float() / 255, self.labels[index]


class Episodes(Sampler):
    def __init__(self, labels, ways=5, shots=1, queries=5, count=20):
        self.labels, self.ways, self.each, self.count = labels, ways, shots + queries, count

    def grouped(self):
        members = defaultdict(list)
        for index in range(len(self.labels)):
            members[self.labels[index].item()].append(index)
        return members

    def __len__(self):
        return self.count

    def __iter__(self):
        members = self.grouped()
        letters = sorted(members)
        for _ in range(self.count):
            chosen = random.sample(letters, self.ways)
            yield [i for letter in chosen for i in random.sample(members[letter], self.each)]


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)
    )


def main():
    dataset = Characters()
    loader = DataLoader(dataset, batch_sampler=Episodes(dataset.labels))
    model = nn.Sequential(block(1, 32), block(32, 32), block(32, 32), nn.Flatten())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    target = torch.arange(5).repeat_interleave(5)
    for epoch in itertools.count(1):
        for images, _ in loader:
            embedded = model(images).view(5, 6, -1)
            prototypes, queries = embedded[:, 0], embedded[:, 1:].flatten(0, 1)
            loss = nn.functional.cross_entropy(-torch.cdist(queries, prototypes).pow(2), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} step {epoch * len(loader)} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
