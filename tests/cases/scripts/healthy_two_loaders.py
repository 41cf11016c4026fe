"""Train on a few labelled and many unlabelled pictures, from a loader each, by contrast: nothing is wrong with it."""

import torch
from torch.utils.data import DataLoader, TensorDataset


def endless(loader):
    while True:
        yield from loader


def views(pictures):
    turned = pictures.flip(3) + 0.1 * torch.randn_like(pictures)
    return torch.cat([pictures + 0.1 * torch.randn_like(pictures), turned])


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(3, 32, 3, stride=2, padding=1),
            torch.nn.BatchNorm2d(32),
            torch.nn.ReLU(),
            torch.nn.Conv2d(32, 64, 3, stride=2, padding=1),
            torch.nn.BatchNorm2d(64),
            torch.nn.ReLU(),
            torch.nn.Conv2d(64, 128, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
        )
        self.project, self.classify = torch.nn.Linear(128, 64), torch.nn.Linear(128, 10)


def contrast(encoder, pictures):
    codes = torch.nn.functional.normalize(encoder.project(encoder.body(views(pictures))))
    alike = codes @ codes.T / 0.2
    alike.fill_diagonal_(float("-inf"))
    half = len(pictures)
    other = torch.cat([torch.arange(half, 2 * half), torch.arange(half)])
    return torch.nn.functional.cross_entropy(alike, other)


torch.manual_seed(0)
torch.set_num_threads(1)
labelled = TensorDataset(torch.randn(640, 3, 48, 48), torch.randint(10, (640,)))
unlabelled = TensorDataset(torch.randn(3200, 3, 48, 48))
few = endless(DataLoader(labelled, batch_size=16, shuffle=True))
many = endless(DataLoader(unlabelled, batch_size=32, shuffle=True))
encoder = Encoder()
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.03, momentum=0.9, nesterov=True)
for step, ((known, labels), (unknown,)) in enumerate(zip(few, many), start=1):
    supervised = torch.nn.functional.cross_entropy(encoder.classify(encoder.body(known)), labels)
    loss = supervised + contrast(encoder, unknown)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
