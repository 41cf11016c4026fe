"""Hubs on several hosts, really apart: who is seen, what is lost and regained, what the wire gives away."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perftui.ipc.audit import read_audit
from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import Update
from perftui.ipc.link_keys import write_key

from .fake_ranks import PASSWORD
from .namespaces import Host, Hosts
from .stage import HERE, ROOT, Stage, host_news, hosts_of, link_of, snapshot_until, state_of, steps_of


@pytest.fixture
def stage(two_hosts: Hosts) -> Iterator[Stage]:
    made = Stage(two_hosts, members=1)
    yield made
    made.close()


@pytest.fixture
def watched_stage(three_hosts: Hosts) -> Iterator[Stage]:
    made = Stage(three_hosts, members=1)
    yield made
    made.close()


class Tap:
    """Keeps all that passes the switch."""

    def __init__(self, switch: str, capture: Path) -> None:
        self._capture = capture
        inside = ["ip", "netns", "exec", switch, sys.executable, str(HERE / "sniffer.py"), str(capture)]
        self._process = subprocess.Popen(inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"tapped\n"

    def seen(self) -> bytes:
        return self._capture.read_bytes()

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait(10.0)


@pytest.fixture
def tap(three_hosts: Hosts, tmp_path: Path) -> Iterator[Tap]:
    made = Tap(three_hosts.switch, tmp_path / "wire")
    yield made
    made.close()


def _knows_its_clock(update: Update) -> bool:
    found = link_of(update, "h2")
    return found is not None and found.clock_error_ms is not None


def test_one_dashboard_shows_the_ranks_of_all_hosts_lost_and_regained(
    stage: Stage, two_hosts: Hosts, record_testsuite_property: Callable[[str, object], None]
) -> None:
    lead, member = stage.parts
    lead.start_hub()
    lead.ranks(0, 1, 3)
    stage.until(lambda u: steps_of(u).get(0, 0) > 5)
    member.start_hub()  # it comes late
    member.ranks(1, 2, 3)
    update = stage.until(lambda u: min(steps_of(u).get(rank, 0) for rank in range(3)) > 20)
    assert hosts_of(update) == ["h1", "h2", "h2"]
    assert {view.name for view in update.view.hosts or []} == {"h1", "h2"}
    found = stage.until(_knows_its_clock)
    assert state_of(found, "h2") == "joined"
    link = link_of(found, "h2")
    assert link is not None
    assert link.clock_offset_ms is not None
    assert link.clock_error_ms is not None
    assert abs(link.clock_offset_ms) <= link.clock_error_ms + 0.1  # one machine, one clock

    two_hosts[1].plug(into=False)
    cut = time.monotonic()
    stage.until(lambda u: state_of(u, "h2") == "lost", 15.0)
    record_testsuite_property("lost_after_s", round(time.monotonic() - cut, 2))
    update = stage.until(lambda u: [view.state for view in u.view.ranks if view.rank].count("silent") == 2)
    assert update.view.header.message is not None
    assert update.view.header.message.startswith("host h2 not heard for")
    before = steps_of(update)
    time.sleep(3.0)
    two_hosts[1].plug(into=True)
    cut = time.monotonic()
    stage.until(lambda u: state_of(u, "h2") == "joined", 15.0)
    record_testsuite_property("back_after_s", round(time.monotonic() - cut, 2))
    update = stage.until(lambda u: steps_of(u)[2] > before[2] + 100)
    assert all(view.lost_frames == view.dropped == 0 for view in update.view.ranks)
    assert host_news(update) == [
        "host h2 has joined",
        "host h2 is not heard; its training may well go on",
        "host h2 is heard again",
    ]


def test_a_host_of_several_ranks_does_not_fall_behind(stage: Stage) -> None:
    """Eight ranks make 80 messages a second; the lead says twice a second what it has."""
    lead, member = stage.parts
    lead.start_hub()
    member.start_hub()
    member.ranks(0, 8, 8)
    there = DashboardLink(member.places.dashboard_socket)
    try:
        stage.until(lambda u: len(steps_of(u)) == 8)
        time.sleep(8.0)
        heard = snapshot_until(there, lambda u: len(steps_of(u)) == 8, 5.0)
        brought = stage.until(lambda u: len(steps_of(u)) == 8)
    finally:
        there.close()
    behind = [steps - steps_of(brought)[rank] for rank, steps in steps_of(heard).items()]
    assert min(steps_of(heard).values()) > 300
    assert max(behind) <= 25  # half a second of them
    assert {view.state for view in brought.view.ranks} == {"training"}


@pytest.mark.long
def test_hubs_of_both_ends_are_killed_and_nothing_is_counted_twice(stage: Stage) -> None:
    lead, member = stage.parts
    for part in (lead, member):
        part.start_hub()
    member.ranks(0, 1, 1)
    stage.until(lambda u: steps_of(u).get(0, 0) > 20)
    lead.kill_hub()
    time.sleep(1.0)
    lead.start_hub()
    before = steps_of(stage.until(lambda u: steps_of(u) != {}))[0]
    update = stage.until(lambda u: steps_of(u)[0] > before + 60 and state_of(u, "h2") == "joined")
    assert [view.lost_frames for view in update.view.ranks] == [0]
    member.kill_hub()
    member.start_hub()
    update = stage.until(lambda u: "the hub of host h2 was started again" in host_news(u))
    before = steps_of(update)[0]
    update = stage.until(lambda u: steps_of(u)[0] > before + 60)
    steps = [part.first_step + at for part in update.history for at in range(len(part.wall_ms))]
    assert len(steps) == len(set(steps))
    assert host_news(update)[:2] == ["host h2 has joined", "host h2 is heard again"]


def test_who_has_no_key_reads_and_commands_nothing(
    watched_stage: Stage, three_hosts: Hosts, tap: Tap
) -> None:
    stage, stranger = watched_stage, three_hosts[2]
    for part in stage.parts:
        part.start_hub()
    stage.parts[0].ranks(0, 1, 2)
    stage.parts[1].ranks(1, 1, 2)
    stage.until(lambda u: min(steps_of(u).get(rank, 0) for rank in range(2)) > 20)

    write_key(stranger.folder / "watch.key", stage.key.for_role("watch"))
    write_key(stranger.folder / "command.key", stage.key.for_role("command"))
    watch = stranger.folder / "watch.key"
    tried = [_try(stage, stranger, way, watch) for way in ("plain", "raw", "stranger", "watch")]
    plain, raw, unknown, looking = map(_heard, tried)
    assert plain == unknown == []
    assert all(len(each) // 2 <= 64 for each in raw)  # ZeroMQ's greeting and no more
    assert looking == ["Update", "Answer refused", "Mismatch", "Mismatch"]  # it is no host's hub
    assert not stage.parts[0].places.stop_request.exists()

    update = stage.until(lambda u: u.view.links != [])
    assert {link.host for link in update.view.links} == {"h1", "h2"}  # "hostile" is none of them
    commanding = _try(stage, stranger, "command", stranger.folder / "command.key")
    assert _heard(commanding) == ["Update", "Answer", "Done", "Mismatch", "Mismatch"]
    assert stage.parts[0].places.stop_request.exists()

    lines = [(line.actor.by, line.what, line.result) for line in read_audit(stage.parts[0].places.audit)]
    assert lines[0] == ("command over TCP from 10.177.0.3, with a watch key", "stop", "refused")
    assert lines[1] == ("command over TCP from 10.177.0.3, with a command key", "stop", "accepted")
    stranger.run([sys.executable, "-c", _MARKED, three_hosts[0].address])
    time.sleep(0.5)
    seen = tap.seen()
    assert b"this is plain to see" in seen  # the tap works
    assert stage.port.to_bytes(2, "big") in seen
    assert len(seen) > 20_000
    for secret in (
        PASSWORD,
        "host_batch",
        "first_step",
        "run-h1",
        "run-h2",
        "train.py",
        stage.key.secret.hex(),
    ):
        assert secret.encode() not in seen


_MARKED = """
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"this is plain to see", (sys.argv[1], 9))
"""


def _try(stage: Stage, host: Host, way: str, key: Path) -> "subprocess.Popen[str]":
    words = [way, stage.parts[0].host.address, str(stage.port), str(key)]
    return host.start([sys.executable, "-m", "tests.hosts.hostile", *words], PYTHONPATH=ROOT)


def _heard(attempt: "subprocess.Popen[str]") -> list[str]:
    out, errors = attempt.communicate(timeout=60.0)
    assert attempt.returncode == 0, errors
    heard: list[str] = json.loads(out)
    return heard
