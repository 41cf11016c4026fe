"""Read the batches of both ranks on the first, send them over, and let each rank train on its half.

R022: https://github.com/huggingface/accelerate/issues/1245
"""

import io
import itertools

import numpy as np
import torch
import torch.distributed as dist
from PIL import Image
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

DISPATCH = True
BATCH = 24


class Photos(Dataset):
    def __init__(self):
        draw, self.files = np.random.default_rng(0), []
        for _ in range(24):
            coarse = Image.fromarray(draw.integers(0, 256, (12, 16, 3), dtype=np.uint8))
            file = io.BytesIO()
            coarse.resize((480, 360), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())

    def __len__(self):
        return 4800

    def __getitem__(self, number):
        photo = Image.open(io.BytesIO(self.files[number % 24])).convert("RGB").resize((40, 40))
        return torch.from_numpy(np.asarray(photo).transpose(2, 0, 1).copy()), number % 24


def dealt(data, rank, world):
    """Yield this rank's part of what the first rank has read."""
    batches = iter(DataLoader(data, batch_size=BATCH * world, shuffle=True)) if rank == 0 else None
    for _ in range(len(data) // (BATCH * world)):
        if batches is not None:
            photos, labels = next(batches)
        else:
            photos = torch.empty(BATCH * world, 3, 40, 40, dtype=torch.uint8)
            labels = torch.empty(BATCH * world, dtype=torch.int64)
        dist.broadcast(photos, 0)
        dist.broadcast(labels, 0)
        yield photos[rank::world], labels[rank::world]


def own(data, epoch):
    sampler = DistributedSampler(data)
    sampler.set_epoch(epoch)
    return DataLoader(data, batch_size=BATCH, sampler=sampler)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rank, world = dist.get_rank(), dist.get_world_size()
    data = Photos()
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 5, stride=3),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(128, 24),
    )
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    step = 0
    for epoch in itertools.count():
        for photos, labels in dealt(data, rank, world) if DISPATCH else own(data, epoch):
            loss = torch.nn.functional.cross_entropy(model(photos.float() / 255), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0 and rank == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
