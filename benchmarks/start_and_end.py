"""What perftui adds to the start and the end of a training: fresh processes in pairs, by the parent's clock.

    python -m benchmarks.start_and_end RESULT.json [--rounds 15] [--lanes 4 --lane-cores 2]

Start: from the spawn of the command to the first step's end, told by the script on a pipe. End: from the last
step's end to the end of the command. A third arm is plain again: what two plain processes differ by.
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

from benchmarks.bootstrap import median_interval
from tests.cases.lanes import in_lanes, lanes_of

SCRIPT = """
import os, sys, torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = TensorDataset(torch.randn(2000, 32), torch.randint(4, (2000,)))
for step, (inputs, labels) in enumerate(DataLoader(data, batch_size=10)):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
    if step == 0:
        os.write(int(sys.argv[1]), b"first")
os.write(int(sys.argv[1]), b"last")
"""


@dataclass(frozen=True)
class Taken:
    """From the spawn to the first step's end, and from the last step's end to the end of the command."""

    start_s: float
    end_s: float


def taken(command: list[str]) -> Taken:
    """Run the script by a command that ends where the script's own arguments begin."""
    with tempfile.TemporaryDirectory(prefix="pse-") as folder:
        (Path(folder) / "train.py").write_text(SCRIPT)
        reader, writer = os.pipe()
        places = {"XDG_STATE_HOME": folder, "PERFTUI_RUNTIME_DIR": f"{folder}/r"}
        began = time.monotonic()
        process = subprocess.Popen(
            [*command, sys.executable, "train.py", str(writer)],
            cwd=folder,
            env=os.environ | places,
            pass_fds=[writer],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(writer)
        first = _told(reader, b"first", process)
        last = _told(reader, b"last", process)
        process.wait()
        ended = time.monotonic()
        os.close(reader)
    return Taken(first - began, ended - last)


def _told(reader: int, word: bytes, process: "subprocess.Popen[bytes]") -> float:
    if os.read(reader, len(word)) != word:
        raise RuntimeError(f"the script ended with {process.wait()} before it said {word.decode()!r}")
    return time.monotonic()


def round_of(number: int) -> dict[str, Taken]:
    """Run each arm once, in an order of this round."""
    perftui = [sys.executable, "-m", "perftui.tui", "run", "--no-tui", "--"]
    arms = {"plain": list[str](), "perftui": perftui, "plain again": list[str]()}
    order = random.Random(number).sample(sorted(arms), len(arms))
    return {arm: taken(arms[arm]) for arm in order}


def added(rounds: list[dict[str, Taken]], arm: str, figure: str) -> dict[str, float]:
    """Return the median of what an arm adds to its round's plain process, with a 95 % bootstrap interval."""
    differences = [getattr(each[arm], figure) - getattr(each["plain"], figure) for each in rounds]
    lo_s, hi_s = median_interval(differences)
    return {"median_s": median(differences), "lo_s": lo_s, "hi_s": hi_s}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--lane-cores", type=int, default=2)
    args = parser.parse_args()
    lanes = lanes_of(os.sched_getaffinity(0), args.lanes, args.lane_cores)
    taken(["env"])  # fills the page cache
    rounds = list(in_lanes(round_of, range(args.rounds), lanes))
    result = {
        "what": "seconds added to the start and the end of a training",
        "command": " ".join(["python -m benchmarks.start_and_end", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%d"),
        "versions": {"python": platform.python_version(), "torch": version("torch")},
        "rounds": len(rounds),
        "lanes": args.lanes,
        "plain": {
            "start_s": median(each["plain"].start_s for each in rounds),
            "end_s": median(each["plain"].end_s for each in rounds),
        },
        "added": {
            arm: {figure: added(rounds, arm, figure) for figure in ("start_s", "end_s")}
            for arm in ("perftui", "plain again")
        },
    }
    args.result.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1), flush=True)


if __name__ == "__main__":
    main()
