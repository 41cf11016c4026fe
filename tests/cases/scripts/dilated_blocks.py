"""Train a dilated network on waveforms; in each epoch some of its blocks rest."""

import itertools
import random

import torch
import torch._dynamo
from torch import nn

torch._dynamo.config.recompile_limit = 128


class Block(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.wide = nn.Conv1d(width, 2 * width, 3, padding=dilation, dilation=dilation)
        self.out = nn.Conv1d(width, width, 1)

    def forward(self, x):
        value, gate = self.wide(x).chunk(2, dim=1)
        return self.out(value.tanh() * gate.sigmoid())


class Waves(nn.Module):
    def __init__(self, width=32, depth=9, classes=64):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.blocks = nn.ModuleList(Block(width, 2**i) for i in range(depth))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(width, classes, 1))
        self.awake = (True,) * depth

    def choose(self, share=0.7):
        self.awake = tuple(random.random() < share for _ in self.blocks)

    def forward(self, x):
        x = self.first(x)
        for block, awake in zip(self.blocks, self.awake):
            if awake:
                x = x + block(x)
        return self.last(x)


def batches(signal, count, batch=8, length=384):
    for _ in range(count):
        starts = torch.randint(len(signal) - length - 1, (batch,))
        pieces = signal[starts[:, None] + torch.arange(length + 1)]
        yield pieces[:, None, :-1], ((pieces[:, 1:] + 1) * 31.5).long()


if __name__ == "__main__":
    torch.set_num_threads(1)
    time = torch.arange(200_000) / 50
    signal = (time.sin() + (time * 2.7).sin() + 0.2 * torch.randn(200_000)).tanh()
    net = Waves()
    model = torch.compile(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in itertools.count(1):
        net.choose()
        for inputs, targets in batches(signal, 40):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} step {40 * epoch} loss {loss.item():.3f} blocks {sum(net.awake)}", flush=True)
