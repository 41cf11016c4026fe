"""A real hub, fired at over its real sockets, and what it must still do afterwards."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import zmq

from perftui.ipc.audit import read_audit
from perftui.ipc.codec import decode_to_dashboard
from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import Answer, Update
from perftui.ipc.errors import ProtocolError
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.ipc.run_files import RunDescription, write_record
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.tuning.plan import plan_path

from . import seeds
from .mutation import wrong

FRAMES_PER_PEER = 3000
"""Below what a rank may send at once: these are looked at, and not refused for their number."""
_ANSWERED = (
    "stop",
    "relaunch",
    "cancel_relaunch",
    "profile",
    "cancel_profile",
    "summary",
    "steps_of",
    "ledger",
    "ranks_over_steps",
    "search",
)
_LEFT_OUT = ("stop", "relaunch")
"""Not sent where they are well-formed: whatever of them takes effect was none."""
_NEEDS: dict[str, set[str]] = {"relaunch": {"set"}, "steps_of": {"rank"}}


class Hub:
    """A hub as a process of its own, of a run that it may stop and relaunch."""

    def __init__(self, places: RunPlaces, log: Path) -> None:
        self.places = places
        with log.open("ab") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "perftui.trainer.hub", places.run_id],
                cwd=places.state,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        self.wait_until_it_serves()

    def wait_until_it_serves(self) -> Update:
        link = DashboardLink(self.places.dashboard_socket)
        try:
            return link.snapshot(60.0)
        finally:
            link.close()

    def rss_mib(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    def peak_mib(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmHWM:")[1].split()[0]) / 1024

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30.0)


@contextmanager
def hub_at(run_id: str = seeds.RUN_ID) -> Generator[Hub, None, None]:
    """Start a hub in the folders that the environment names; its output is in `hub.log` there."""
    places = make_run_places(run_id)
    description = RunDescription(
        run_id=run_id,
        name="fuzzed",
        command=["/bin/false"],
        cwd=str(places.state),
        host="h",
        started_unix=time.time(),
        gpu_readings=False,
        keeper_pid=os.getpid(),
        keeper_start_ticks=start_ticks(os.getpid()),
    )
    write_record(places.description, description)
    hub = Hub(places, places.state / "hub.log")
    try:
        yield hub
    finally:
        hub.end()


def is_command(frame: bytes, kinds: Sequence[str] = _ANSWERED) -> bool:
    """Tell by other means than the hub's whether a frame is a well-formed command of one of these kinds."""
    try:
        found: Any = msgspec.msgpack.decode(frame)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return False
    said = cast("dict[object, Any]", found) if isinstance(found, dict) else {}
    if said.get("kind") not in kinds or not isinstance(said.get("command_id"), str):
        return False
    return _NEEDS.get(said["kind"], set()) <= set(said)


class Peer:
    """One connection that sends what it likes."""

    def __init__(self, address: str, identity: bytes | None = None) -> None:
        self._context = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 2000)
        self._socket.setsockopt(zmq.SNDHWM, 2000)
        if identity:
            self._socket.setsockopt(zmq.IDENTITY, identity)
        self._socket.connect(address)

    def send(self, *parts: bytes) -> None:
        self._socket.send_multipart(parts)

    def heard(self, timeout_ms: int = 0) -> Iterator[bytes]:
        while self._socket.poll(timeout_ms):
            yield self._socket.recv()

    def close(self) -> None:
        self._socket.close()
        self._context.term()


def fire_at_ranks(hub: Hub, frames: int, draw: random.Random) -> Counter[str]:
    """Send wrong frames as ranks do, from one connection after another."""
    sent: Counter[str] = Counter()
    begin = [*seeds.recorded(), *seeds.FROM_RANK]
    others = [*begin, *seeds.TO_RANK, *seeds.FROM_DASHBOARD]
    ticks = start_ticks(os.getpid()) or 0
    while sent["frames"] < frames:
        number = sent["peers"]
        peer = Peer(hub.places.rank_socket, b"r%d.%d" % (number % 7, number))
        peer.send(seeds.hello(number % 7, os.getpid(), ticks))
        for _ in range(min(FRAMES_PER_PEER, frames - sent["frames"])):
            if draw.random() < 0.002:
                peer.send(*[draw.choice(begin)] * draw.randint(2, 5))
            else:
                peer.send(wrong(draw, draw.choice(begin), others))
            sent["frames"] += 1
        peer.close()
        sent["peers"] += 1
    return sent


def fire_at_dashboards(hub: Hub, frames: int, draw: random.Random) -> Counter[str]:
    """Send wrong frames as dashboards do; count answers, and commands taken that were none."""
    sent: Counter[str] = Counter()
    begin = seeds.FROM_DASHBOARD
    others = [*begin, *seeds.FROM_RANK, *seeds.TO_DASHBOARD]
    while sent["frames"] < frames:
        peer = Peer(hub.places.dashboard_socket)
        commands: set[str] = set()
        for _ in range(min(FRAMES_PER_PEER, frames - sent["frames"])):
            frame = wrong(draw, draw.choice(begin), others)
            sent["frames"] += 1
            if is_command(frame, _LEFT_OUT):
                sent["left out"] += 1
                continue
            if is_command(frame):
                commands.add(msgspec.msgpack.decode(frame)["command_id"])
            peer.send(frame)
            if sent["frames"] % 50 == 0:
                _count(sent, peer.heard(), commands)
        _count(sent, peer.heard(500), commands)
        peer.close()
        sent["peers"] += 1
    return sent


def _count(sent: Counter[str], heard: Iterator[bytes], commands: set[str]) -> None:
    for frame in heard:
        try:
            message = decode_to_dashboard(frame)
        except ProtocolError:
            sent["answers that cannot be read"] += 1
            continue
        sent[type(message).__name__.lower()] += 1
        if isinstance(message, Answer):
            sent["accepted" if message.accepted else "declined"] += 1
            if message.accepted and message.command_id not in commands:
                sent["wrongly taken"] += 1


def fire_below_zeromq(hub: Hub, connections: int, draw: random.Random) -> Counter[str]:
    """Speak to the sockets without ZeroMQ: greetings and frames of its protocol, made wrong."""
    sent: Counter[str] = Counter()
    greeting = b"\xff" + b"\0" * 8 + b"\x7f\x03\x00NULL" + b"\0" * 48
    ready = b"\x04\x26\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0"
    frame = draw.choice(seeds.FROM_RANK)
    whole = greeting + ready + bytes([0, len(frame) % 256]) + frame
    for number in range(connections):
        address = (hub.places.rank_socket, hub.places.dashboard_socket)[number % 2].removeprefix("ipc://")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
            stream.settimeout(1.0)
            try:
                stream.connect(address)
                data = bytearray(whole)
                for _ in range(draw.randint(0, 6)):
                    data[draw.randrange(len(data))] = draw.randrange(256)
                if draw.random() < 0.2:
                    data[len(greeting) + len(ready) :] = (
                        b"\x02" + draw.randbytes(8) + b"x" * 100
                    )  # a long frame
                stream.sendall(bytes(data))
            except OSError:
                sent["cut off"] += 1
        sent["connections"] += 1
    return sent


def refused_by_kind(hub: Hub) -> str:
    """Return what the hub says it has not taken."""
    return hub.wait_until_it_serves().view.header.message or ""


def what_took_effect(places: RunPlaces) -> list[str]:
    """Return what stands there that only a command can have made: nothing may."""
    files = [path.name for path in (places.stop_request, places.relaunch, plan_path(places))]
    found = [name for name in files if (places.state / name).exists()]
    found += [
        f"{line.what} {line.result}"
        for line in read_audit(places.audit)
        if line.what in _LEFT_OUT and line.result != "refused"
    ]
    return found


def still_takes_steps(hub: Hub) -> bool:
    """Tell whether a rank that comes now is shown, with the steps that it has done."""
    ticks = start_ticks(os.getpid()) or 0
    peer = Peer(hub.places.rank_socket, b"r99.%d" % os.getpid())
    link = DashboardLink(hub.places.dashboard_socket)
    try:
        peer.send(seeds.hello(99, os.getpid(), ticks))
        batch = msgspec.msgpack.decode(seeds.FROM_RANK[1])
        peer.send(msgspec.msgpack.encode({**batch, "rank": 99, "seq": 1, "first_step": 40}))
        deadline = time.monotonic() + 30.0
        while time.monotonic() < deadline:
            shown = {rank.rank: rank.steps for rank in link.snapshot(30.0).view.ranks}
            if shown.get(99) == 42:
                return True
            time.sleep(0.2)
    finally:
        link.close()
        peer.close()
    return False
