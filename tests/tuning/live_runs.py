"""Live runs of `rank_script.py` for tests of relaunches, and what is seen of them."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perftui.ipc.ledger_records import Comparison
from perftui.ipc.places import RunPlaces, ledger_path, run_places, state_root
from perftui.ipc.run_files import RunDescription, read_record
from perftui.ipc.view import RelaunchView
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import exit_of, launch, request_stop, wait_for_exit
from perftui.trainer.telemetry.processes import all_pids, tagged_pids
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.subject import live_picture
from tests.waiting import wait_until

SCRIPT = Path(__file__).with_name("rank_script.py")
CAPS = Caps(steps=200, fewest_seconds=0.0, start_seconds=60.0)
PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def private_runs(runtime_dirs: object) -> Iterator[None]:
    """Private places; afterwards no process of any run is left."""
    yield
    for places in all_runs():
        if exit_of(places) is None and read_record(places.description, RunDescription).owned:  # type: ignore[union-attr]
            request_stop(places, "user", grace_s=0.5)
            assert wait_for_exit(places, PATIENCE_S) is not None
    for places in all_runs():
        for pid in hub_pids(places):  # they would go by themselves, some seconds later
            os.kill(pid, signal.SIGTERM)
    wait_until(
        lambda: not any(tagged_pids(places.run_id) or hub_pids(places) for places in all_runs()),
        "trainings and hubs end",
    )


def all_runs() -> list[RunPlaces]:
    folder = state_root() / "runs"
    return [run_places(each.name) for each in folder.iterdir()] if folder.exists() else []


def hub_pids(places: RunPlaces) -> list[int]:
    name = f"perftui.trainer.hub\0{places.run_id}\0".encode()
    return [pid for pid in list(all_pids()) if name in command_line(pid)]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""


def start_live(tmp_path: Path, *options: str) -> RunPlaces:
    places = launch(LaunchSpec(command=[sys.executable, str(SCRIPT), *options], cwd=tmp_path, name="live"))
    wait_until(lambda: any(rank.steps > 100 for rank in live_picture(places).view.ranks), "it trains")
    return places


def ledger_lines() -> list[Comparison]:
    with open_ledger(ledger_path()) as ledger:
        return ledger.newest()


def no_trial_is_left() -> bool:
    descriptions = [(places, read_record(places.description, RunDescription)) for places in all_runs()]
    return all(
        exit_of(places) is not None for places, each in descriptions if each is not None and each.trial
    )


def workers_of(run_id: str | None) -> object:
    assert run_id is not None
    description = read_record(run_places(run_id).description, RunDescription)
    assert description is not None
    assert exit_of(run_places(run_id)) is None
    return description.settings.get("loader.num_workers", "as the script has it")


def is_measuring(places: RunPlaces) -> bool:
    view = read_record(places.relaunch, RelaunchView)
    return view is not None and bool(view.launches) and view.launches[-1].state == "measuring"
