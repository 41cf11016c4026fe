"""A small training on the CPU whose step is `--work` equal pieces of work: 22 take 10 % longer than 20.

Each piece is a forward and a backward of the same batch, so that a step holds the same samples whatever its
work is. It never ends by itself.
"""

import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--same", type=int, default=0, help="changes nothing")
    asked = parser.parse_args()
    work = asked.work
    torch.set_num_threads(asked.threads)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 16, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * 11 * 11, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    data = TensorDataset(torch.randn(64_000, 3, 24, 24), torch.randint(0, 10, (64_000,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    while True:
        for images, labels in loader:
            optimizer.zero_grad()
            for _ in range(work):
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()


main()
