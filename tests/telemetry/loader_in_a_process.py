"""A training in miniature: a DataLoader with workers in a process of its own, that waits to be told to go on.

Arguments: start method, number of workers, and what a sample does: `sleep`, `burn`, or `read PATH`.
"""

import sys
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset[torch.Tensor]):
    """Samples without an end."""

    def __init__(self, what: str, path: str) -> None:
        self.what = what
        self.path = path

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.what == "burn":
            end = time.thread_time() + 0.05
            while time.thread_time() < end:
                pass
        elif self.what == "read":
            Path(self.path).read_bytes()
        return torch.zeros(2)


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main() -> None:
    """Fetch one batch, then whatever number of batches a line on standard input says."""
    method, workers, what, *rest = sys.argv[1:]
    loader = DataLoader(
        Samples(what, rest[0] if rest else ""),
        batch_size=1,
        num_workers=int(workers),
        multiprocessing_context=method,
        prefetch_factor=2,
    )
    batches = iter(loader)
    next(batches)
    _say("ready")
    for line in sys.stdin:
        for _ in range(int(line)):
            next(batches)
        _say("done")


if __name__ == "__main__":
    main()
