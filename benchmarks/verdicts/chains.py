"""Runs chains of launches by the trial code that a relaunch uses, several chains beside each other."""

import os
import queue
import random
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.verdicts.records import ChainLaunch, Neighbour
from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.settings import Settings
from perftui.trainer.tuning.enough import wanted_se
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.procedure import ORDER
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Label
from perftui.trainer.tuning.standing import Standing
from perftui.trainer.tuning.subject import Subject
from perftui.trainer.tuning.trials import Conditions, run_trial
from tests.cases.lanes import in_lanes, lanes_of
from tests.cases.start import end_left, neighbours

SCRIPT = Path(__file__).with_name("training.py")
WORK = 20
"""Pieces of a step of B; A has as many, or more where a difference is injected."""
_NEIGHBOURS: tuple[Neighbour, ...] = ("none", "steady", "none", "bursts")
_CHAINS = 10_000
_LAUNCH_S = 15.0
"""A launch that would have less time than this is not begun."""
_BURST_S = (0.2, 8.0)


@dataclass(frozen=True)
class Order:
    """What to run."""

    minutes: float
    lanes: int
    lane_cores: int
    injected: float
    threads: int
    launches: int
    """Of a chain."""
    busy: bool | None
    """Beside a neighbour: all chains, none, or (None) every other one."""


def run_chains(order: Order) -> Iterator[ChainLaunch]:
    """Yield launches as they end, until the time is over."""
    ends_at = time.monotonic() + 60 * order.minutes
    lanes = lanes_of(os.sched_getaffinity(0), order.lanes, order.lane_cores)
    ended: queue.SimpleQueue[ChainLaunch | None] = queue.SimpleQueue()
    left = threading.Event()

    def run(number: int) -> None:
        _run_chain(number, order, lambda: -1.0 if left.is_set() else ends_at - time.monotonic(), ended.put)

    def run_all() -> None:
        try:
            for _ in in_lanes(run, range(_CHAINS), lanes):
                pass
        finally:
            ended.put(None)

    with _places(), ThreadPoolExecutor(1) as pool:
        runner = pool.submit(run_all)
        try:
            while (launch := ended.get()) is not None:
                yield launch
            runner.result()
        finally:
            left.set()


@contextmanager
def _places() -> Generator[None, None, None]:
    """Have all launches in folders of their own (short: a socket's path is), and leave nothing running."""
    names = ("XDG_STATE_HOME", "PERFTUI_RUNTIME_DIR")
    before = {name: os.environ.get(name) for name in names}
    with tempfile.TemporaryDirectory(prefix="va-", ignore_cleanup_errors=True) as folder:
        os.environ.update({"XDG_STATE_HOME": folder, "PERFTUI_RUNTIME_DIR": f"{folder}/r"})
        try:
            yield
        finally:
            end_left(Path(folder))
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name)
                else:
                    os.environ[name] = value


def _run_chain(
    number: int, order: Order, left_s: Callable[[], float], keep: Callable[[ChainLaunch], None]
) -> None:
    if left_s() < _LAUNCH_S:
        return
    chain = secrets.token_hex(4)
    neighbour = _NEIGHBOURS[number % len(_NEIGHBOURS)]
    if order.busy is not None:
        neighbour = ("steady", "bursts")[number % 2] if order.busy else "none"
    with _beside(neighbour, chain):
        for place in range(order.launches):
            if left_s() < _LAUNCH_S:
                return
            label: Label = "A" if order.injected == 1 else ORDER[place % len(ORDER)]
            trial = run_trial(
                label,
                place + 1,
                _settings(label, order),
                _conditions(order),
                _untold,
                lambda: left_s() < 0,
            )
            if trial.cancelled:
                return
            keep(ChainLaunch(chain=chain, place=place, neighbour=neighbour, launch=trial.launch))


def _untold(_: Standing) -> None:
    """Take the progress of a launch."""


def _settings(label: Label, order: Order) -> Settings:
    return {"arg.work": round(WORK * order.injected) if label == "A" else WORK}


def _conditions(order: Order) -> Conditions:
    subject = Subject(
        command=[sys.executable, str(SCRIPT), "--threads", str(order.threads)],
        cwd=SCRIPT.parent,
        name="aa",
        before={},
        gpu_readings=False,
        arguments={"work": ArgumentTemplate("--work {value}", "neutral")},
    )
    return Conditions(subject, 0, wanted_se(DEFAULT_NOISE.tau0), Caps())


@contextmanager
def _beside(neighbour: Neighbour, seed: str) -> Generator[None, None, None]:
    """Have a neighbour on the same cores meanwhile."""
    if neighbour == "none":
        yield
        return
    if neighbour == "steady":
        with neighbours(1):
            yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_bursts, args=(over, random.Random(seed)))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _bursts(over: threading.Event, rng: random.Random) -> None:
    """Be busy and quiet in turns, each for as long as chance says."""
    while not over.is_set():
        with neighbours(rng.choice((1, 2))):
            over.wait(rng.uniform(*_BURST_S))
        over.wait(rng.uniform(*_BURST_S))
