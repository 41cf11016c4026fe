"""What the training scripts have in common beside the loop: arguments, the turn on the device, the result."""

import argparse
import fcntl
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from benchmarks.rivals.cells import CELLS, Cell
from benchmarks.rivals.clock import Clock
from benchmarks.rivals.places import began_beside
from benchmarks.rivals.tasks import Task, build_task


@dataclass(frozen=True)
class ScriptArguments:
    """What the runner asked of this process."""

    cells: list[Cell]
    mode: str
    result: Path
    pictures: Path | None
    gate: Path | None


Train = Callable[[Task, Clock], None]


def script_arguments() -> ScriptArguments:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", required=True, help="names with commas between")
    parser.add_argument("--mode", default="", help="how the tool is told to measure")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of steps")
    parser.add_argument("--device", default="", help="cpu or cuda, where it is not the cell's own")
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--gate", type=Path, help="a file to lock while measuring")
    args = parser.parse_args()
    cells = [CELLS[name].scaled(args.scale) for name in args.cells.split(",")]
    if args.device:
        cells = [Cell(**{**asdict(cell), "device": args.device}) for cell in cells]
    return ScriptArguments(cells, args.mode, args.result, args.pictures, args.gate)


def train_all(arguments: ScriptArguments, train: Train) -> None:
    """Run the loops one after another and write their figures as one line of JSON.

    Raises:
        RuntimeError: a loop ended before its last step.
    """
    torch.set_num_threads(1)
    with _turn(arguments):
        figures = [_figures(cell, arguments.pictures, train) for cell in arguments.cells]
        arguments.result.write_text(json.dumps(figures) + "\n")


def _figures(cell: Cell, pictures: Path | None, train: Train) -> dict[str, object]:
    task = build_task(cell, pictures)
    clock = Clock(cell, torch.cuda.synchronize if cell.device == "cuda" else None)
    train(task, clock)
    if clock.figures is None:
        raise RuntimeError(f"{cell.name} ended before its last step")
    return asdict(clock.figures)


@contextmanager
def _turn(arguments: ScriptArguments) -> Generator[None, None, None]:
    """Wait until no other process measures; everything up to here may overlap with its measuring."""
    if arguments.gate is None:
        yield
        return
    with arguments.gate.open("a") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        began_beside(arguments.result).touch()
        yield
