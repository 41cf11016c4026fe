"""Train a vision transformer with eight micro-batches to each update of the weights, from loader workers."""

import argparse
import itertools

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset, Sampler


class Store(Dataset):
    def __init__(self, count):
        self.images = torch.randint(256, (count, 3, 96, 96), dtype=torch.uint8)
        self.kinds = torch.randint(100, (count,))

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, block):
        images = self.images[block]
        return images.flip(3) if torch.rand(()) < 0.5 else images.clone(), self.kinds[block].clone()


class Blocks(Sampler):
    """Whole runs of neighbours in a random order: each is one read of the store."""

    def __init__(self, count, size):
        self.count, self.size = count, size

    def __len__(self):
        return self.count // self.size

    def __iter__(self):
        for block in torch.randperm(len(self)).tolist():
            yield slice(block * self.size, (block + 1) * self.size)


class Vision(nn.Module):
    def __init__(self, width=768, depth=12, side=96, patch=8, kinds=100):
        super().__init__()
        self.patch, self.enter = patch, nn.Linear(3 * patch * patch, width)
        self.place = nn.Parameter(torch.randn((side // patch) ** 2, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, 12, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.leave = nn.Linear(width, kinds)

    def forward(self, x):
        x = functional.pixel_unshuffle(x, self.patch).flatten(2).transpose(1, 2)
        return self.leave(self.blocks(self.enter(x) + self.place).mean(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro-batch", type=int, default=192)
    parser.add_argument("--accumulate", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda")
    store = Store(192 * 60)
    loader = DataLoader(
        store,
        sampler=Blocks(len(store), args.micro_batch),
        batch_size=None,
        num_workers=2,
        pin_memory=True,
        persistent_workers=True,
    )
    model = Vision().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05, fused=True)
    batches = itertools.chain.from_iterable(itertools.repeat(loader))
    total = torch.zeros((), device=device)
    for number, (images, kinds) in enumerate(batches, 1):
        images = images.to(device, non_blocking=True).float().div_(127.5).sub_(1)
        with torch.autocast("cuda", torch.bfloat16):
            loss = functional.cross_entropy(
                model(images), kinds.to(device, non_blocking=True), label_smoothing=0.1
            )
        (loss / args.accumulate).backward()
        total += loss.detach()
        if number % args.accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
        if number % (10 * args.accumulate) == 0:
            print(
                f"step {number // args.accumulate} loss {total.item() / (10 * args.accumulate):.3f}",
                flush=True,
            )
            total.zero_()


if __name__ == "__main__":
    main()
