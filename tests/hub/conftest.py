"""A real hub process for the tests of this folder."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import Update
from perftui.ipc.errors import ConnectionLost
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.ipc.run_files import RunDescription, write_record
from tests.hub.fake_rank import DEADLINE_S, FakeRank


class HubProcess:
    """Starts, kills and restarts the hub of one run."""

    def __init__(self, places: RunPlaces) -> None:
        self.places = places
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *extra: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "perftui.trainer.hub", self.places.run_id, *extra],
            cwd=self.places.state,
        )

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(DEADLINE_S)

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(DEADLINE_S)


@pytest.fixture
def places(runtime_dirs: object, tmp_path: Path) -> RunPlaces:
    """Folders of a run, with a description of a run that goes on."""
    made = make_run_places("test-run")
    write_record(
        made.description,
        RunDescription(
            run_id="test-run",
            name="test",
            command=["python", "t.py"],
            cwd=str(tmp_path),
            host="h",
            started_unix=time.time(),
            settings={},
        ),
    )
    return made


@pytest.fixture
def hub(places: RunPlaces) -> Iterator[HubProcess]:
    """The hub of `places`, not started yet."""
    process = HubProcess(places)
    yield process
    process.end()


@pytest.fixture
def link(places: RunPlaces) -> Iterator[DashboardLink]:
    """A dashboard's link to the hub of `places`."""
    made = DashboardLink(places.dashboard_socket)
    yield made
    made.close()


@pytest.fixture
def rank(places: RunPlaces) -> Iterator[FakeRank]:
    """A rank of `places`, which has not said anything yet."""
    made = FakeRank(places)
    yield made
    made.link.close()


def until(link: DashboardLink, true_of: Callable[[Update], bool]) -> Update:
    """Take snapshots until one fits."""
    deadline = time.monotonic() + DEADLINE_S
    last: Update | None = None
    unanswered = 0
    while time.monotonic() < deadline:
        try:
            last = link.snapshot(2.0)
        except ConnectionLost:  # on a busy host a hub takes a while to start: then it answers all of these
            unanswered += 1
            continue
        while unanswered and link.receive(500) is not None:
            unanswered -= 1
        if true_of(last):
            return last
        time.sleep(0.05)
    raise AssertionError(f"never came true; last was {last}")
