"""Predict clicks from a table of categorical columns."""

import argparse
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Table(Dataset):
    def __init__(self, columns, rows=300_000, size=1000):
        self.columns = {f"c{i:02d}": torch.randint(size, (rows,)) for i in range(columns)}
        self.clicked = torch.randint(2, (rows,)).float()

    def __len__(self):
        return len(self.clicked)

    def __getitems__(self, indices):
        chosen = torch.tensor(indices)
        return {name: column[chosen] for name, column in self.columns.items()} | {
            "clicked": self.clicked[chosen]
        }


class Clicks(nn.Module):
    def __init__(self, columns, size=1000, width=8):
        super().__init__()
        self.offsets = torch.arange(columns) * size
        self.embed = nn.Embedding(columns * size, width)
        self.net = nn.Sequential(nn.Linear(columns * width, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, batch):
        ids = torch.stack([column for name, column in sorted(batch.items()) if name != "clicked"], 1)
        return self.net(self.embed(ids + self.offsets).flatten(1)).squeeze(1)


def as_it_is(batch):
    return batch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--columns", type=int, default=26)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--num-workers", type=int, default=12)
    args = parser.parse_args()
    loader = DataLoader(
        Table(args.columns), args.batch_size, shuffle=True, num_workers=args.num_workers, collate_fn=as_it_is,
        persistent_workers=args.num_workers > 0,
    )  # fmt: skip
    model = Clicks(args.columns)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in itertools.count():
        for step, batch in enumerate(loader):
            loss = nn.functional.binary_cross_entropy_with_logits(model(batch), batch["clicked"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 200 == 0:
                print(f"epoch {epoch} step {epoch * len(loader) + step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
