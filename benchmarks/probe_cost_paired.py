"""What the hooks cost the training thread, within one process: blocks of steps with and without them.

A host drifts by more than the cost from process to process; from block to block it hardly does. The hooks are
taken out and put back between blocks; the agent's thread runs on through both.

    perftui run --no-tui -- python -m benchmarks.probe_cost_paired --modules 4 --json RESULT.json
    … --modules 403 --block-steps 1 --pairs 2000 --part fetch     what one of the hooks costs

With `--part` the other hooks stay in both arms.
"""

import argparse
import importlib
import json
import platform
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.bootstrap import median_interval

PARTS = ("fetch", "backward", "optimizer")


@contextmanager
def without_hooks(parts: Sequence[str]) -> Generator[None]:
    """Put torch's own functions back in these places for the length of a block."""
    kind: Any = vars(importlib.import_module("torch.utils.data.dataloader"))["_BaseDataLoaderIter"]
    autograd: Any = torch.autograd
    optimizers: dict[str, Any] = vars(importlib.import_module("torch.optim.optimizer"))
    pre: dict[int, Any] = optimizers["_global_optimizer_pre_hooks"]
    post: dict[int, Any] = optimizers["_global_optimizer_post_hooks"]
    fetch, backward, before, after = kind.__next__, autograd.backward, dict(pre), dict(post)
    if "fetch" in parts:
        kind.__next__ = fetch.__wrapped__
    if "backward" in parts:
        autograd.backward = backward.__wrapped__
    if "optimizer" in parts:
        pre.clear()
        post.clear()
    try:
        yield
    finally:
        kind.__next__ = fetch
        autograd.backward = backward
        pre.update(before)
        post.update(after)


class Training:
    """A small MLP on tensors in memory."""

    def __init__(self, modules: int, batch_size: int, workers: int, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        torch.set_num_threads(1)
        layers = [torch.nn.Linear(32, 32) for _ in range(modules - 1)]
        self.model = torch.nn.Sequential(*layers, torch.nn.Linear(32, 4)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.loss_of = torch.nn.CrossEntropyLoss()
        data = TensorDataset(torch.randn(200_000, 32), torch.randint(4, (200_000,)))
        self.loader = DataLoader(data, batch_size=batch_size, num_workers=workers)
        self.batches = iter(self.loader)

    def block(self, steps: int) -> float:
        """Train some steps; return the CPU time of this thread per step in microseconds."""
        began = time.thread_time_ns()
        for _ in range(steps):
            inputs, labels = self._next()
            if self.device != "cpu":
                inputs, labels = inputs.to(self.device), labels.to(self.device)
            loss = self.loss_of(self.model(inputs), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return (time.thread_time_ns() - began) / steps / 1e3

    def _next(self) -> Any:
        try:
            return next(self.batches)
        except StopIteration:
            self.batches = iter(self.loader)
            return next(self.batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--modules", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--block-steps", type=int, default=50, metavar="N")
    parser.add_argument("--part", choices=PARTS, help="that hook alone; default: all of them")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    training = Training(args.modules, args.batch_size, args.workers, args.device)
    parts = [args.part] if args.part else list(PARTS)
    for _ in range(300 // args.block_steps):
        training.block(args.block_steps)
    plain: list[float] = []
    hooked: list[float] = []
    for pair in range(args.pairs):
        for arm in ("plain", "hooked") if pair % 2 == 0 else ("hooked", "plain"):
            if arm == "hooked":
                hooked.append(training.block(args.block_steps))
            else:
                with without_hooks(parts):
                    plain.append(training.block(args.block_steps))
    differences = [with_us - without_us for with_us, without_us in zip(hooked, plain, strict=True)]
    lo, hi = median_interval(differences)
    result = {
        "what": "CPU time that the hooks add to the training thread, microseconds a step",
        "date": time.strftime("%Y-%m-%d"),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "modules": args.modules,
        "batch_size": args.batch_size,
        "workers": args.workers,
        "device": args.device,
        "pairs": args.pairs,
        "block_steps": args.block_steps,
        "parts": parts,
        "plain_us": median(plain),
        "added_us": median(differences),
        "lo": lo,
        "hi": hi,
    }
    print(json.dumps(result, indent=1), flush=True)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
