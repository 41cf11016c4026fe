"""Real launches in folders of their own; after each test nothing of it may be left in /proc."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from perftui.ipc.places import RunPlaces, state_root
from perftui.ipc.run_files import ExitRecord
from perftui.trainer.launch.family import send_signal
from perftui.trainer.launch.spec import LaunchSpec, Stdio
from perftui.trainer.launch.start import launch, wait_for_exit
from perftui.trainer.telemetry.processes import tagged_pids
from tests.conftest import RuntimeDirs
from tests.processes import processes_below
from tests.waiting import wait_until

DEADLINE_S = 60.0

STUB_HUB = """
import os
from pathlib import Path
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.places import run_places
places = run_places(Path.cwd().name)
sockets = HubSockets(places)
with (places.state / "hub.pids").open("a") as f:
    f.write(f"{os.getpid()}\\n")
while not places.exit_record.exists():
    sockets.arrivals(50)
sockets.close()
"""


@pytest.fixture
def until() -> Callable[..., None]:
    return wait_until


@pytest.fixture(autouse=True)
def home(tmp_path: Path, runtime_dirs: RuntimeDirs, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    yield tmp_path
    ids = [entry.name for entry in (state_root() / "runs").glob("*")]
    tagged = {run_id: tagged_pids(run_id) for run_id in ids}
    if all((state_root() / "runs" / run_id / "exit.json").exists() for run_id in ids):
        # a hub stays a few seconds for latecomers; a keeper has nothing left to forward to
        for pid, ticks in processes_below(runtime_dirs.state).items():
            send_signal(pid, ticks, signal.SIGTERM)
    try:
        wait_until(lambda: not processes_below(runtime_dirs.state), "keepers and hubs end by themselves", 30)
        assert not any(tagged.values()), f"left behind: {tagged}"
    finally:
        for members in [*tagged.values(), processes_below(runtime_dirs.state)]:
            for pid, ticks in members.items():
                send_signal(pid, ticks, signal.SIGKILL)


@pytest.fixture
def script(home: Path) -> Callable[[str], list[str]]:
    """Write a script and return the command that runs it."""

    def write(text: str) -> list[str]:
        path = home / f"script{len(list(home.glob('script*')))}.py"
        path.write_text(text)
        return ["python", str(path)]

    return write


@pytest.fixture
def start(home: Path) -> Iterator[Callable[..., RunPlaces]]:
    started: list[RunPlaces] = []

    def begin(
        command: list[str],
        *,
        stdio: Stdio = "log",
        hub: Sequence[str] | None = (),
        die_with: bool = False,
        trial: bool = False,
    ) -> RunPlaces:
        spec = LaunchSpec(command, home, stdio=stdio, die_with=die_with, trial=trial)
        places = launch(spec, hub=None if hub is None else list(hub))
        started.append(places)
        return places

    yield begin
    for places in started:
        if wait_for_exit(places, 0.0) is None:
            for pid, ticks in tagged_pids(places.run_id).items():
                send_signal(pid, ticks, signal.SIGKILL)
            wait_for_exit(places, 20.0)


@pytest.fixture
def ended() -> Callable[[RunPlaces], ExitRecord]:
    """Wait for a run's end."""

    def wait(places: RunPlaces) -> ExitRecord:
        record = wait_for_exit(places, DEADLINE_S)
        assert record is not None, "the run did not end"
        return record

    return wait


@pytest.fixture
def stub_hub(home: Path) -> Path:
    path = home / "stub_hub.py"
    path.write_text(STUB_HUB)
    return path
