"""Tell gestures from the events of a neuromorphic camera, gathered in grids of space and time."""

import numpy as np
import torch
from torch import nn

SIDE, BINS, EVENTS, BATCH, KINDS = 96, 5, 30_000, 96, 11


class Recordings:
    def __init__(self, count=400, seed=0):
        draw = np.random.default_rng(seed)
        self.x = draw.integers(0, SIDE, (count, EVENTS), dtype=np.int16)
        self.y = draw.integers(0, SIDE, (count, EVENTS), dtype=np.int16)
        self.time = np.sort(draw.random((count, EVENTS), dtype=np.float32), axis=1)
        self.sign = draw.integers(0, 2, (count, EVENTS), dtype=np.int8)
        self.kind = draw.integers(0, KINDS, count)


def grid(x, y, time, sign):
    """Share each event among its two neighbouring bins of time."""
    place = y.astype(np.int64) * SIDE + x
    moment = (time - time[0]) / (time[-1] - time[0]) * (BINS - 1)
    early = np.minimum(moment.astype(np.int64), BINS - 2)
    late_share = moment - early
    value = sign * 2.0 - 1.0
    size = BINS * SIDE * SIDE
    volume = np.bincount(early * SIDE * SIDE + place, value * (1 - late_share), size)
    volume += np.bincount((early + 1) * SIDE * SIDE + place, value * late_share, size)
    filled = volume != 0
    volume[filled] = (volume[filled] - volume[filled].mean()) / (volume[filled].std() + 1e-6)
    return volume.astype(np.float32).reshape(BINS, SIDE, SIDE)


def network():
    layers, before = [], BINS
    for width in (64, 128, 256, 256):
        layers += [nn.Conv2d(before, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        layers += [nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        before = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, KINDS))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    recordings, draw = Recordings(), np.random.default_rng(1)
    model = network().to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    step = 0
    while True:
        chosen = draw.integers(0, len(recordings.kind), BATCH)
        grids = [
            grid(recordings.x[i], recordings.y[i], recordings.time[i], recordings.sign[i]) for i in chosen
        ]
        images = torch.from_numpy(np.stack(grids)).to(device).to(memory_format=torch.channels_last)
        kinds = torch.from_numpy(recordings.kind[chosen]).to(device)
        with torch.autocast("cuda", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(images), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
