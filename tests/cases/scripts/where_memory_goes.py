"""Train a forecaster, and list now and then which lines hold how much more than before."""

import math
import tracemalloc

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, history=96, horizon=24, width=128):
        super().__init__()
        self.horizon = horizon
        self.encode = nn.GRU(1, width, batch_first=True)
        self.decode = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, horizon))

    def forward(self, series):
        return self.decode(self.encode(series[..., None])[1][-1])


class Watch:
    def __init__(self, every):
        self.every, self.before = every, tracemalloc.take_snapshot()

    def __call__(self, step):
        if step % self.every:
            return
        now = tracemalloc.take_snapshot()
        for line in now.compare_to(self.before, "traceback")[:3]:
            print(f"  {line.size_diff / 1024:+9.1f} KiB  {line.traceback[-1]}", flush=True)
        self.before = now


class Reading:
    def __init__(self, hour, load):
        self.hour, self.load = hour, load


def readings(count=120_000):
    """Read the meter's hours, as its archive has them."""
    noise = torch.randn(count).tolist()
    return [
        Reading(hour, math.sin(hour / 24) + math.sin(hour / 168) + 0.1 * noise[hour]) for hour in range(count)
    ]


def windows(series, history, horizon, size):
    while True:
        starts = torch.randint(len(series) - history - horizon, (size, 1))
        rows = series[starts + torch.arange(history + horizon)]
        yield rows[:, :history], rows[:, history:]


torch.manual_seed(1)
archive = readings()
series = torch.tensor([reading.load for reading in archive])
model = Forecaster()
optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-4)
tracemalloc.start(12)
watch = Watch(every=40)
for step, (past, future) in enumerate(windows(series, 96, 24, 32), 1):
    loss = nn.functional.l1_loss(model(past), future)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    watch(step)
    if step % 50 == 0:
        print(f"step {step} mae {loss.item():.4f}", flush=True)
