"""Runs loops, each in a child as a rank of its own, so that torch is imported once: `run_shapes [NAME ...]`.

Each prints one line of JSON: what its own clock says of its steps.
"""

import gc
import os
import sys
import warnings

import torch
from torch._dynamo import eval_frame  # the first optimizer brings it in: once, for all children

from perftui.trainer.probe import agent  # likewise
from tests.probe.shapes import (
    loops_of_libraries,
    loops_of_loaders,
    loops_of_optimizers,
    loops_without_loaders,
)
from tests.probe.shapes.registry import SHAPES
from tests.probe.shapes.stopwatch import Stopwatch

BROUGHT_IN = (agent, eval_frame)
LOOPS = (loops_of_loaders, loops_of_optimizers, loops_without_loaders, loops_of_libraries)
NAMES = list(SHAPES)
"""The rank of a loop is its place here."""
AT_ONCE = 2
"""Children that run side by side: they sleep, mostly."""


def main(names: list[str]) -> int:
    warnings.filterwarnings("ignore", module=r"torch\.")  # the oldest one warns of itself
    torch.set_num_threads(1)
    gc.freeze()  # else each child goes through all of torch when it ends
    can_compile = eval_frame.is_dynamo_supported()
    failures = running = 0
    for rank, name in enumerate(NAMES):
        if (names and name not in names) or (SHAPES[name].compiles and not can_compile):
            continue
        if running == AT_ONCE:
            failures += _one_ends()
            running -= 1
        if os.fork() == 0:
            os.environ["RANK"] = str(rank)
            _train(name)
            sys.exit(0)  # in good order: the probe says goodbye
        running += 1
    return failures + sum(_one_ends() for _ in range(running))


def _one_ends() -> int:
    _, status = os.wait()
    return int(status != 0)


def _train(name: str) -> None:
    torch.manual_seed(0)
    watch = Stopwatch()
    SHAPES[name].run(watch)
    watch.report(name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
