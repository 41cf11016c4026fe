"""Train a classifier of which only a tenth of the weights is to remain."""

import argparse
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=float, default=0.1)
    parser.add_argument("--fade", type=float, default=0.6)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    return parser.parse_args()


class Sparsifier:
    """Keeps the largest weights of each layer and lets the others fade step by step."""

    def __init__(self, model, keep, fade):
        self.layers = []
        for module in model.modules():
            if isinstance(module, nn.Linear) and module.out_features > 10:
                size = module.weight.abs().flatten()
                least = size.kthvalue(int(len(size) * (1 - keep))).values
                kept = (module.weight.abs() > least).float()
                self.layers.append((module.weight, kept, kept + (1 - kept) * fade))

    @torch.no_grad()
    def before_step(self):
        for weight, kept, _ in self.layers:
            weight.grad.mul_(kept)

    @torch.no_grad()
    def after_step(self):
        for weight, _, factor in self.layers:
            weight.mul_(factor)


def main():
    args = arguments()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    centres = torch.randn(10, 128)
    labels = torch.randint(10, (6400,))
    data = TensorDataset(centres[labels] + torch.randn(6400, 128), labels)
    loader = DataLoader(data, batch_size=args.batch, shuffle=True)
    layers = [nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    sparsifier = Sparsifier(model, args.keep, args.fade)
    for epoch in itertools.count(1):
        right = 0
        for inputs, targets in loader:
            scores = model(inputs)
            loss = nn.functional.cross_entropy(scores, targets)
            optimizer.zero_grad()
            loss.backward()
            sparsifier.before_step()
            optimizer.step()
            sparsifier.after_step()
            right += (scores.argmax(1) == targets).sum()
        print(f"step {epoch * len(loader)} loss {loss.item():.3f} right {right.item()}", flush=True)


if __name__ == "__main__":
    main()
