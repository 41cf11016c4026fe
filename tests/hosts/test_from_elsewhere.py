"""A dashboard over TCP: through a relay of bytes, as an SSH tunnel is, by the command line in a terminal."""

import contextlib
import select
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.dashboard_link import DashboardLink, LeadAddress, new_command_id
from perftui.ipc.dashboard_messages import LedgerQuery, SearchQuery, StopCommand, SummaryQuery
from perftui.ipc.errors import Refused
from perftui.ipc.host_addresses import HostPort
from perftui.ipc.link_keys import KeyFile, new_job_key, write_key
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import HostsPlan, RunDescription, read_record, write_record
from tests.hub.conftest import HubProcess, until
from tests.hub.conftest import hub as hub
from tests.hub.conftest import places as places
from tests.hub.fake_rank import FakeRank
from tests.tui.pty_terminal import Terminal


class Relay:
    """Passes bytes between whoever comes and one port, and keeps them."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._to = port
        self.seen = b""
        self._closing = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            if not select.select([self._listener], [], [], 0.1)[0]:
                continue
            near, _ = self._listener.accept()
            passing = threading.Thread(target=self._pass, args=(near,))
            self._threads.append(passing)
            passing.start()

    def _pass(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._to)) as far:
            while not self._closing.is_set():
                for ready in select.select([near, far], [], [], 0.1)[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    self.seen += data
                    (far if ready is near else near).sendall(data)

    def close(self) -> None:
        self._closing.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()


@pytest.fixture
def key(places: RunPlaces, tmp_path: Path) -> KeyFile:
    """The key of a run that this host leads, at its loopback address."""
    made = new_job_key()
    write_key(tmp_path / "job.key", made)
    write_key(tmp_path / "watch.key", made.for_role("watch"))
    known = read_record(places.description, RunDescription)
    assert known is not None
    plan = HostsPlan(role="lead", host="127.0.0.1", port=made.port, key=str(tmp_path / "job.key"))
    write_record(places.description, msgspec.structs.replace(known, hosts=plan))
    return made


@pytest.fixture
def relay(key: KeyFile) -> Iterator[Relay]:
    made = Relay(key.port)
    yield made
    made.close()


@pytest.fixture
def rank(places: RunPlaces) -> Iterator[FakeRank]:
    made = FakeRank(places)
    yield made
    made.link.close()


def test_the_key_decides_what_a_dashboard_may_do(
    hub: HubProcess, rank: FakeRank, key: KeyFile, relay: Relay
) -> None:
    hub.start()
    rank.hello()
    rank.steps(50)
    at = HostPort("127.0.0.1", relay.port)
    looking = DashboardLink(LeadAddress(at, key.peer_keys("watch")))
    commanding = DashboardLink(LeadAddress(at, key.peer_keys("command")))
    try:
        update = until(looking, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 50)
        assert update.view.header.name == "test"
        assert looking.ask(SummaryQuery(command_id=new_command_id()), 5.0).ok
        with pytest.raises(Refused, match="may only look"):
            looking.ask(StopCommand(command_id=new_command_id()), 5.0)
        for question in (LedgerQuery, SearchQuery):  # they tell of the user's other trainings too
            with pytest.raises(Refused, match="may only look"):
                looking.ask(question(command_id=new_command_id()), 5.0)
            assert commanding.ask(question(command_id=new_command_id()), 5.0).ok
        assert commanding.ask(StopCommand(command_id=new_command_id()), 5.0).ok
    finally:
        looking.close()
        commanding.close()
    assert len(relay.seen) > 1000
    assert b"test-run" not in relay.seen


def test_the_command_line_looks_from_elsewhere(
    hub: HubProcess, rank: FakeRank, key: KeyFile, relay: Relay, tmp_path: Path
) -> None:
    hub.start()
    rank.hello()
    rank.steps(50)
    words = ["-m", "perftui.tui", "--at", f"127.0.0.1:{relay.port}", "--key", str(tmp_path / "watch.key")]
    terminal = Terminal(command=words)
    try:
        terminal.wait_for("step 50")
        terminal.type(b"H")
        terminal.wait_for("h leads")
        terminal.process.send_signal(signal.SIGTERM)
        terminal.wait_for_exit()
    finally:
        terminal.close()
