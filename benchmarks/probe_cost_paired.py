"""What the hooks cost the training thread, within one process: blocks of steps with and without them.

A host drifts by more than the cost from process to process; from block to block it hardly does. The hooks are
taken out and put back between blocks; the agent's thread runs on through both.

    perftui run --no-tui -- python -m benchmarks.probe_cost_paired --modules 4 --json RESULT.json
    … --modules 403 --block-steps 1 --pairs 2000 --part fetch     what one of the hooks costs
    … --cell gpu-gpt-12 --block-steps 5 --pairs 60   a loop of `benchmarks.rivals`, of the usual size

With `--part` the other hooks stay in both arms. On a GPU a block ends when the device has done all of it, so
the wall time of its steps is told beside the CPU time of the thread.
"""

import argparse
import importlib
import json
import platform
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.bootstrap import median_interval
from benchmarks.rivals.cells import CELLS
from benchmarks.rivals.pictures import make_pictures
from benchmarks.rivals.tasks import Batch, Task, build_task

PARTS = ("fetch", "backward", "optimizer")
_WARM_UP_STEPS_OF_SMALL = 300
_WARM_UP_STEPS = 40


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


@dataclass(frozen=True)
class Took:
    """What a step of a block took, in microseconds."""

    cpu_us: float
    """CPU time of the training thread."""
    wall_us: float


class Training:
    """A task whose batches never end; an epoch's end is a step like the others."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.batches: Iterator[Batch] = iter(task.batches)

    def block(self, steps: int) -> Took:
        """Train some steps."""
        self._wait()
        began, began_cpu = time.perf_counter_ns(), time.thread_time_ns()
        for _ in range(steps):
            self._step()
        cpu_ns = time.thread_time_ns() - began_cpu
        self._wait()
        return Took(cpu_ns / steps / 1e3, (time.perf_counter_ns() - began) / steps / 1e3)

    def _step(self) -> None:
        task = self.task
        inputs, labels = self._next()
        inputs = inputs.to(task.device, non_blocking=True)
        labels = labels.to(task.device, non_blocking=True)
        loss = task.loss_of(task.model(inputs), labels)
        task.optimizer.zero_grad()
        loss.backward()
        task.optimizer.step()

    def _next(self) -> Batch:
        try:
            return next(self.batches)
        except StopIteration:
            self.batches = iter(self.task.batches)
            return next(self.batches)

    def _wait(self) -> None:
        if self.task.device.type == "cuda":
            torch.cuda.synchronize()


def small_task(modules: int, batch_size: int, workers: int, device: str) -> Task:
    """Return a small MLP on tensors in memory."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(32, 32) for _ in range(modules - 1)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(32, 4)).to(device)
    data = TensorDataset(torch.randn(200_000, 32), torch.randint(4, (200_000,)))
    return Task(
        model,
        torch.optim.SGD(model.parameters(), lr=0.01),
        torch.nn.CrossEntropyLoss(),
        DataLoader(data, batch_size=batch_size, num_workers=workers),
        torch.device(device),
        reads_loss=False,
    )


@contextmanager
def cell_task(name: str, steps: int) -> Generator[Task]:
    """Give the loop of a cell, an epoch of it as long as the measurement."""
    with tempfile.TemporaryDirectory(prefix="paired-") as folder:
        make_pictures(Path(folder))
        yield build_task(replace(CELLS[name], steps=steps, warm_up=0), Path(folder))


def compared(
    training: Training, parts: Sequence[str], pairs: int, steps: int
) -> tuple[list[Took], list[Took]]:
    """Return what blocks took without the hooks and with them, in pairs whose order alternates."""
    plain: list[Took] = []
    hooked: list[Took] = []
    for pair in range(pairs):
        for arm in ("plain", "hooked") if pair % 2 == 0 else ("hooked", "plain"):
            if arm == "hooked":
                hooked.append(training.block(steps))
            else:
                with without_hooks(parts):
                    plain.append(training.block(steps))
    return plain, hooked


def figures(plain: Sequence[float], hooked: Sequence[float]) -> dict[str, float]:
    """Return the median of plain steps and of the differences, with its interval."""
    differences = [with_us - without_us for with_us, without_us in zip(hooked, plain, strict=True)]
    lo, hi = median_interval(differences)
    return {"plain_us": median(plain), "added_us": median(differences), "lo": lo, "hi": hi}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--modules", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--block-steps", type=int, default=50, metavar="N")
    parser.add_argument("--part", choices=PARTS, help="that hook alone; default: all of them")
    parser.add_argument("--cell", choices=list(CELLS), help="that loop instead of the small MLP")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    parts = [args.part] if args.part else list(PARTS)
    torch.set_num_threads(1)
    if args.cell:
        with cell_task(args.cell, 2 * args.pairs * args.block_steps + _WARM_UP_STEPS) as task:
            result = measured(task, args, parts)
    else:
        task = small_task(args.modules, args.batch_size, args.workers, args.device)
        result = measured(task, args, parts)
    print(json.dumps(result, indent=1), flush=True)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


def measured(task: Task, args: argparse.Namespace, parts: Sequence[str]) -> dict[str, Any]:
    """Return the result as it is written."""
    training = Training(task)
    warm_up = _WARM_UP_STEPS if args.cell else _WARM_UP_STEPS_OF_SMALL
    for _ in range(warm_up // args.block_steps):
        training.block(args.block_steps)
    plain, hooked = compared(training, parts, args.pairs, args.block_steps)
    cpu = figures([each.cpu_us for each in plain], [each.cpu_us for each in hooked])
    return {
        "what": "CPU time that the hooks add to the training thread, microseconds a step",
        "date": time.strftime("%Y-%m-%d"),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        **({"cell": args.cell} if args.cell else {"modules": args.modules, "batch_size": args.batch_size}),
        "workers": CELLS[args.cell].workers if args.cell else args.workers,
        "device": str(task.device),
        "pairs": args.pairs,
        "block_steps": args.block_steps,
        "parts": parts,
        **cpu,
        "wall": figures([each.wall_us for each in plain], [each.wall_us for each in hooked]),
    }


if __name__ == "__main__":
    main()
