"""A real hub's end of the socket, and real trainings started the way the launcher starts them."""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from perftui.ipc.codec import decode_from_rank
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.messages import PROTOCOL_VERSION, FromRank, Hello, StepBatch, ToRank, Welcome
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.ipc.run_files import AppliedSettings, write_record

ROOMS = Path(__file__).resolve().parents[2]
INJECT = ROOMS / "trainer" / "launch" / "inject"
_Kind = TypeVar("_Kind", bound=msgspec.Struct)
_LIMIT_S = 120.0


@dataclass
class Outcome:
    """What one training said, to us and to the world."""

    exit_code: int
    stdout: str
    stderr: str
    messages: list[FromRank]

    def of(self, kind: type[_Kind], rank: int = 0) -> list[_Kind]:
        return [message for message in self.messages if isinstance(message, kind) and message.rank == rank]

    def steps(self, rank: int = 0) -> int:
        return sum(len(batch.end_ns) for batch in self.of(StepBatch, rank))

    def column(self, name: str, rank: int = 0) -> list[int]:
        return [value for batch in self.of(StepBatch, rank) for value in getattr(batch, name)]


class Hub:
    """The receiving end: welcomes ranks and keeps all that they say."""

    def __init__(self, places: RunPlaces, work: Path) -> None:
        self.places = places
        self.work = work
        self.sockets = HubSockets(places)
        self.to_send: dict[int, list[ToRank]] = {}
        """What to say to a rank once it has sent its first steps."""
        self.heard: Callable[[FromRank], object] | None = None
        """Is told of each message while the training goes on."""

    def environment(self, **more: str) -> dict[str, str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PERFTUI_")}
        environment |= {
            "PERFTUI_RUN_ID": self.places.run_id,
            "PERFTUI_RUN_STATE": str(self.places.state),
            "PERFTUI_RUN_RUNTIME": str(self.places.runtime),
            "PERFTUI_ROOMS": str(ROOMS),
            "PERFTUI_PYTHON": sys.executable,
            "PYTHONPATH": str(INJECT),
            "OMP_NUM_THREADS": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # its worker processes may outlive a child that is forked
        }
        return environment | more

    def apply(self, **settings: object) -> None:
        write_record(self.places.settings_file, msgspec.convert(settings, AppliedSettings))

    def train(self, script: str, *, launcher: list[str] | None = None, **environment: str) -> Outcome:
        """Run a script to its end and return all that came meanwhile."""
        path = self.work / "train.py"
        path.write_text(textwrap.dedent(script))
        command = [*(launcher or [sys.executable]), str(path)]
        return self.run(command, self.environment(**environment))

    def run(self, command: list[str], environment: dict[str, str]) -> Outcome:
        with (self.work / "out").open("w+") as out, (self.work / "err").open("w+") as err:
            process = subprocess.Popen(command, cwd=self.work, env=environment, stdout=out, stderr=err)
            messages = self._listen(process)
            out.seek(0)
            err.seek(0)
            return Outcome(process.returncode, out.read(), err.read(), messages)

    def _listen(self, process: "subprocess.Popen[bytes]") -> list[FromRank]:
        messages: list[FromRank] = []
        deadline = time.monotonic() + _LIMIT_S
        try:
            while process.poll() is None:
                assert time.monotonic() < deadline, "the training does not end"
                self._take(messages, 50)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        self._take(messages, 300)
        return messages

    def _take(self, messages: list[FromRank], timeout_ms: int) -> None:
        for arrival in self.sockets.arrivals(timeout_ms):
            message = decode_from_rank(arrival.frame)
            messages.append(message)
            if isinstance(message, Hello):
                self.sockets.to_rank(arrival.peer, Welcome(protocol=PROTOCOL_VERSION, hub_pid=os.getpid()))
            if self.heard is not None:
                self.heard(message)
            if isinstance(message, StepBatch):
                for order in self.to_send.pop(message.rank, []):
                    self.sockets.to_rank(arrival.peer, order)

    def close(self) -> None:
        self.sockets.close()


@contextmanager
def open_hub(work: Path) -> Generator[Hub, None, None]:
    root = Path(tempfile.mkdtemp(prefix="pf"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERFTUI_RUNTIME_DIR", str(root / "r"))
        patch.setenv("XDG_STATE_HOME", str(root / "s"))
        end = Hub(make_run_places("probe-test"), work)
        yield end
        end.close()
    shutil.rmtree(root)


@pytest.fixture
def fetchers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Torch's own fetchers by name, which are put back as they were however they are patched."""
    from torch.utils.data._utils import fetch

    kinds: dict[str, Any] = vars(fetch)
    for name, method in (
        ("_BaseDatasetFetcher", "__init__"),
        ("_MapDatasetFetcher", "fetch"),
        ("_IterableDatasetFetcher", "fetch"),
    ):
        monkeypatch.setattr(kinds[name], method, getattr(kinds[name], method))
    return kinds


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    work = tmp_path / "work"
    work.mkdir()
    with open_hub(work) as end:
        yield end


@pytest.fixture(scope="module")
def module_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """One hub for a module: a start of torch is dear."""
    with open_hub(tmp_path_factory.mktemp("work")) as end:
        yield end
