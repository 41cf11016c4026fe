"""Train a small CNN on tensors that are in memory already: the arithmetic is all there is."""

import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models

CLASSES = 8


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--log-every", type=int, default=10, metavar="STEPS")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    torch.manual_seed(0)
    torch.set_num_threads(1)  # leaves the other cores to the neighbours
    data = TensorDataset(torch.randn(1024, 3, 64, 64), torch.randint(CLASSES, (1024,)))
    batches = DataLoader(data, batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = models.shufflenet_v2_x0_5(num_classes=CLASSES)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    step = 0
    for epoch in range(args.epochs):
        for pictures, labels in batches:
            loss = loss_of(model(pictures), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % args.log_every == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
