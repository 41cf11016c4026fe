"""How many of the pictures so many processes prepare a second with nothing else to do: the most to be had.

    python -m benchmarks.case_study.decode_rate FOLDER --processes 1 8 15 16

Each process is kept on a core of its own and prepares pictures as `resnet50.py` does, one at a time or, with
`--batches`, batch by batch with torch's collation. Cores that share an execution unit, or slow down together,
prepare less in company than each alone.
"""

import argparse
import json
import multiprocessing
import os
import platform
import random
import time
from multiprocessing.synchronize import Barrier
from typing import Any

import torch
from torch.utils.data import default_collate  # pyright: ignore[reportUnknownVariableType]
from torchvision import datasets, transforms

BATCH = 256


def _pictures(folder: str) -> Any:
    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    return datasets.ImageFolder(folder, transform)


def prepare(pictures: Any, core: int, seconds: float, batches: bool, begin: Barrier, rates: Any) -> None:
    """Prepare pictures on one core for so long, and tell how many a second."""
    os.sched_setaffinity(0, {core})
    torch.set_num_threads(1)
    chosen = random.Random(core)
    begin.wait()
    began, made = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        some = [pictures[chosen.randrange(len(pictures))] for _ in range(BATCH if batches else 1)]
        made += len(some)
        if batches:
            default_collate(some)
    rates.put(made / (time.perf_counter() - began))


def rate_of(processes: int, pictures: Any, seconds: float, *, batches: bool) -> float:
    """Return the pictures a second of so many processes beside each other."""
    context = multiprocessing.get_context("fork")
    begin, rates = context.Barrier(processes), context.Queue()
    cores = sorted(os.sched_getaffinity(0))
    started = [
        context.Process(target=prepare, args=(pictures, core, seconds, batches, begin, rates))
        for core in cores[:processes]
    ]
    for process in started:
        process.start()
    told: float = sum(rates.get() for _ in started)
    for process in started:
        process.join()
    return told


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("--processes", type=int, nargs="+", default=[1])
    parser.add_argument("--seconds", type=float, default=6.0)
    args = parser.parse_args()
    pictures = _pictures(args.folder)
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    for batches in (False, True):
        rates = {
            number: round(rate_of(number, pictures, args.seconds, batches=batches), 1)
            for number in args.processes
        }
        result["in batches" if batches else "one at a time"] = rates
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
