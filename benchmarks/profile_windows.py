"""What a profiling window costs a training on a GPU, and whether its one sentence is right.

Everything goes through the command line: a training under `perftui run --no-tui`, windows by
`perftui profile`. The trainings log the end of each step by a clock of their own, so that stalls and step
times before and after are not perftui's own figures.

    python -m benchmarks.profile_windows RESULT.json [--perftui PROGRAM] [--parts cost,sentences,many]
    python -m benchmarks.profile_windows RESULT.json --parts many --windows 100 --many-seconds 150
    python -m benchmarks.profile_windows RESULT.json --parts sentences --gpus 2

For each window the stall by its parts (the rank's own figures, ms): `prepare`, `start`, `drain` (waiting for
what the device has queued; it works meanwhile) and `stop` on the training thread; `write` and `drop` in the
worker, in which torch holds Python's lock. By the training's own clock, above its step before: the warm
steps, the recorded ones, the one after them (it holds the stop) and the five behind that.
"""

import argparse
import json
import os
import platform
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import ProfileCommand
from perftui.ipc.view import ProfileView

LOOP = "benchmarks.profile_windows_loop"
STEADY_STEPS = 60
EXTRA = os.environ.get("PROFILE_WINDOWS_EXTRA", "").split()
"""More options for every loop, such as `--device cpu` to try the program out."""
PATIENCE_S = 150.0
RESNET = ["--model", "resnet50", "--batch"]
COST = {
    "resnet50, batch 16, eager": [*RESNET, "16"],
    "resnet50, batch 128, eager": [*RESNET, "128"],
    "gpt, batch 8, eager": ["--model", "gpt", "--batch", "8"],
    "resnet50, batch 16, reduce-overhead": [*RESNET, "16", "--mode", "reduce-overhead"],
    "resnet50, batch 16, default": [*RESNET, "16", "--mode", "default"],
    "resnet50, batch 128, default": [*RESNET, "128", "--mode", "default"],
    "resnet50, batch 128, reduce-overhead": [*RESNET, "128", "--mode", "reduce-overhead"],
}
SENTENCES = {
    "launch-bound": ["--model", "mlp", "--batch", "64"],
    "loader-bound": ["--model", "resnet50", "--batch", "32", "--job", "starved"],
    "sync each step": ["--model", "wide", "--batch", "32768", "--job", "synced"],
    "150 syncs a step": ["--model", "gpt", "--batch", "8", "--job", "reading"],
    "pageable copies": ["--model", "wide", "--batch", "16384", "--job", "pageable"],
    "compute-bound": ["--model", "gpt", "--batch", "8"],
}
SENTENCES_OF_RANKS = {
    "communication-bound": ["--model", "huge", "--batch", "64"],
    "a slow rank": ["--model", "gpt", "--batch", "8", "--slow-rank", "1"],
    "communication hidden": ["--model", "gpt", "--batch", "16"],
}
OF_A_RANK = ("state", "reason", "stall_ms", "window_ms", "cost_ms", "events")
ON_THE_THREAD = ("prepare", "start", "drain", "stop")
UNDER_THE_LOCK = ("write", "drop")
AFTERWARDS_STEPS = 5
SETTLED_STEPS = 400
WARM_STEPS = 2
"""At most: the profiler is prepared at the beginning of the first of them."""


class Training:
    """A training under perftui, its steps read from its own log."""

    def __init__(self, program: str, folder: Path, options: list[str], gpus: int) -> None:
        self._program, self._log = program, folder / "steps"
        self.environment = os.environ | {
            "XDG_STATE_HOME": str(folder / "state"),
            "PERFTUI_RUNTIME_DIR": str(folder / "run"),
        }
        launcher = [sys.executable, "-m"]
        if gpus > 1:
            launcher = ["torchrun", "--standalone", f"--nproc-per-node={gpus}", "-m"]
        loop = [*launcher, LOOP, *options, *EXTRA, "--ends", str(self._log)]
        self._err = (folder / "err").open("w+")
        self._process = subprocess.Popen(
            [program, "run", "--no-tui", "--", *loop],
            env=self.environment,
            stdout=self._err,
            stderr=self._err,
        )

    def ends_ns(self, rank: int = 0) -> list[int]:
        """Return when each step ended."""
        try:
            data = Path(f"{self._log}.{rank}").read_bytes()
        except FileNotFoundError:
            return []
        return list(struct.unpack(f"<{len(data) // 8}q", data[: len(data) // 8 * 8]))

    def wait_steps(self, count: int) -> None:
        """Wait until so many steps are done.

        Raises:
            RuntimeError: it ended before, or took too long.
        """
        deadline = time.monotonic() + PATIENCE_S
        while len(self.ends_ns()) < count:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._err.seek(0)
                raise RuntimeError(f"no {count} steps: {self._err.read()[-1500:]}")
            time.sleep(0.05)

    def ask(self, *words: str) -> Any:
        """Return a command's answer."""
        done = subprocess.run(
            [self._program, *words], env=self.environment, capture_output=True, text=True, check=False
        )
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            return {"exit_code": done.returncode, "said": (done.stdout + done.stderr)[-1500:]}

    @contextmanager
    def link(self) -> Generator[DashboardLink, None, None]:
        """Talk to the run's hub for the length of a block: a command's start would take most of a window."""
        sockets = list(Path(self.environment["PERFTUI_RUNTIME_DIR"]).rglob("dash.sock"))
        if len(sockets) != 1:
            raise RuntimeError(f"{len(sockets)} hubs")
        link = DashboardLink(f"ipc://{sockets[0]}")
        try:
            yield link
        finally:
            link.close()

    def close(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._err.close()


@contextmanager
def training(program: str, options: list[str], gpus: int = 1) -> Generator[Training, None, None]:
    """Run a training for the length of a block."""
    with tempfile.TemporaryDirectory(prefix="pw-") as folder:
        running = Training(program, Path(folder), options, gpus)
        try:
            yield running
        finally:
            running.close()


def walls_ms(ends_ns: list[int], start_ns: int, stop_ns: int) -> list[float]:
    """Return the times of steps that ended between two moments."""
    steps = pairwise(ends_ns)
    return [(after - before) / 1e6 for before, after in steps if start_ns < after <= stop_ns]


def window(running: Training, steps: int) -> dict[str, Any]:
    """Open one window; return its cost by the training's own clock."""
    begun = len(running.ends_ns())
    running.wait_steps(begun + STEADY_STEPS)
    asked_ns = time.monotonic_ns()
    answer = running.ask("profile", "--steps", str(steps), "--json")
    answered_ns = time.monotonic_ns()
    running.wait_steps(len(running.ends_ns()) + STEADY_STEPS + 5)
    ends = running.ends_ns()
    before = median(walls_ms(ends, ends[begun], asked_ns))
    after = median(walls_ms(ends, answered_ns, ends[-1]))
    within = walls_ms(ends, asked_ns, answered_ns)
    first = int(answer.get("start_step", -1))
    found: dict[str, Any] = {
        "steps": steps,
        "state": answer.get("state"),
        "before_ms": before,
        "after_ms": after,
        "after_ratio": after / before,
        "extra_ms": sum(within) - len(within) * before,
        "longest_ms": max(within),
        "answer_s": (answered_ns - asked_ns) / 1e9,
        "sentence": answer.get("sentence"),
        "ranks": [{name: rank.get(name) for name in OF_A_RANK} for rank in answer.get("ranks", [])],
    }
    found["parts_ms"] = [stall_parts(rank["cost_ms"] or {}) for rank in found["ranks"]]
    if 0 < first < len(ends) - steps:
        found["key_to_first_step_ms"] = (ends[first - 1] - asked_ns) / 1e6
        found["key_to_first_step_in_steps"] = sum(asked_ns < end <= ends[first - 1] for end in ends)
        found["last_step_to_answer_s"] = (answered_ns - ends[first + steps - 1]) / 1e9
        found["by_own_clock_ms"] = above_before(ends, first, steps, before)
    else:
        found["answer"] = answer
    return found


def stall_parts(cost_ms: dict[str, float]) -> dict[str, float | None]:
    """Return what the training thread stood still for and what held Python's lock; None: not told."""
    return {part: cost_ms.get(part) for part in (*ON_THE_THREAD, *UNDER_THE_LOCK)}


def above_before(ends_ns: list[int], first: int, steps: int, before_ms: float) -> dict[str, float]:
    """Return how much longer than before the steps around a window took in all.

    Args:
        ends_ns: of all steps.
        first: the first recorded one.
        steps: recorded.
        before_ms: a step before the window.
    """
    walls = [(after - before) / 1e6 - before_ms for before, after in pairwise([ends_ns[0], *ends_ns])]
    stop = first + steps
    return {
        "warm": sum(walls[max(1, first - WARM_STEPS) : first]),
        "recorded": sum(walls[first:stop]),
        "stop": walls[stop],
        "afterwards": sum(walls[stop + 1 : stop + 1 + AFTERWARDS_STEPS]),
    }


def cost(program: str, options: list[str]) -> list[dict[str, Any]]:
    """Open windows of 3, 3 and 10 steps on one training."""
    with training(program, options) as running:
        running.wait_steps(STEADY_STEPS)
        return [window(running, steps) for steps in (3, 3, 10)]


def many(program: str, count: int, seconds: float) -> dict[str, Any]:
    """Open many windows on one launch-bound training, over one link; stop after so many seconds."""
    with training(program, ["--model", "mlp", "--batch", "64", "--layers", "12"]) as running:
        running.wait_steps(SETTLED_STEPS)
        resident: list[float] = []
        answers: list[ProfileView] = []
        first, began = running.ends_ns(), time.monotonic()
        with running.link() as link:
            while len(answers) < count and time.monotonic() - began < seconds:
                done = link.ask(ProfileCommand(command_id=new_command_id(), steps=3), PATIENCE_S)
                if done.profile is None:
                    raise RuntimeError(f"window {len(answers) + 1}: {done.result}")
                answers.append(done.profile)
                resident.append(resident_of_loop())
        took_s, last = time.monotonic() - began, running.ends_ns()
        time.sleep(1.0)
        final = running.ends_ns()
    ranks = [rank for view in answers for rank in view.ranks[:1]]
    states = [view.state for view in answers]
    return {
        "windows": len(answers),
        "asked": count,
        "took_s": took_s,
        "states": {state: states.count(state) for state in set(states)},
        "resident_mib": {
            "first": resident[0],
            "tenth": resident[min(9, len(resident) - 1)],
            "last": resident[-1],
        },
        "device_busy_share": {
            "first": [rank.device_busy_share for rank in ranks[:5]],
            "last": [rank.device_busy_share for rank in ranks[-5:]],
        },
        "stall_ms": {
            "first": [rank.stall_ms for rank in ranks[:5]],
            "last": [rank.stall_ms for rank in ranks[-5:]],
        },
        "parts_ms": {
            "first": [stall_parts(rank.cost_ms) for rank in ranks[:3]],
            "last": [stall_parts(rank.cost_ms) for rank in ranks[-3:]],
        },
        "step_ms_before": median(walls_ms(first, first[-300], first[-1])),
        "step_ms_after": median(walls_ms(final, last[-1], final[-1])),
    }


def resident_of_loop() -> float:
    """Return the resident memory of the training process, found by its command line, in MiB."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if LOOP.encode() in words and b"run" not in words:
                return resident_mib(int(folder.name))
    return float("nan")


def resident_mib(pid: int) -> float:
    """Return a process's resident memory in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def fill_caches(folder: str) -> None:
    """Compile what is compiled below once, side by side, so that the measured starts are short."""
    compiled = [options for options in COST.values() if "--mode" in options]
    loops = [
        subprocess.Popen([sys.executable, "-m", LOOP, *options, "--steps", "8", "--ends", f"{folder}/{n}"])
        for n, options in enumerate(compiled)
    ]
    for loop in loops:
        loop.wait(PATIENCE_S)


def gpus_there() -> str | None:
    """Return what `nvidia-smi -L` says; None without it."""
    try:
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("--perftui", default="perftui")
    parser.add_argument("--parts", default="cost,sentences,many")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--windows", type=int, default=100)
    parser.add_argument("--many-seconds", type=float, default=150.0, help="open no more windows after that")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after that")
    args = parser.parse_args()
    deadline = time.monotonic() + 60 * args.minutes
    result: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("torch", "torchvision")},
        "gpu": gpus_there(),
        "command": " ".join(["python -m benchmarks.profile_windows", *sys.argv[1:]]),
    }

    def keep(part: str, name: str, found: Any) -> None:
        result.setdefault(part, {})[name] = found
        sys.stderr.write(f"{part}, {name}: {json.dumps(found)[:900]}\n")
        args.result.write_text(json.dumps(result, indent=1) + "\n")

    parts = args.parts.split(",")
    if "cost" in parts:
        with tempfile.TemporaryDirectory(prefix="pw-") as folder:
            fill_caches(folder)
    plans: list[tuple[str, str, Any]] = []
    if "sentences" in parts:
        jobs = SENTENCES if args.gpus == 1 else SENTENCES_OF_RANKS
        plans += [("sentences", name, options) for name, options in jobs.items()]
    if "cost" in parts:
        plans += [("cost", name, options) for name, options in COST.items()]
    if "many" in parts:
        plans.insert(len(plans) - 2 if "cost" in parts else len(plans), ("many", "mlp", None))
    for part, name, options in plans:
        if time.monotonic() > deadline:
            keep(part, name, "not run: out of time")
            continue
        try:
            if part == "cost":
                keep(part, name, cost(args.perftui, options))
            elif part == "many":
                keep(part, name, many(args.perftui, args.windows, args.many_seconds))
            else:
                with training(args.perftui, options, args.gpus) as running:
                    running.wait_steps(STEADY_STEPS)
                    keep(part, name, window(running, 3))
        except RuntimeError as error:
            keep(part, name, f"failed: {error}")


if __name__ == "__main__":
    main()
