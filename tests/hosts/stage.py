"""A run over several hosts for the tests: a hub on each, and ranks that only speak."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import Update
from perftui.ipc.errors import ConnectionLost
from perftui.ipc.host_links import HostLink
from perftui.ipc.link_keys import KeyFile, new_job_key, write_key
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import HostsPlan, RunDescription, write_record

from .namespaces import Host, Hosts

DEADLINE_S = 30.0
HERE = Path(__file__).parent
ROOT = str(HERE.parents[1])
"""Where `tests` lies, for scripts of these tests that run on a host."""


class Part:
    """One host's part of the run."""

    def __init__(self, host: Host, plan: HostsPlan) -> None:
        self.host = host
        self.run_id = f"run-{host.name}"
        self.places = RunPlaces(
            self.run_id, host.runtime / self.run_id, host.state / "perftui" / "runs" / self.run_id
        )
        for folder in (self.places.runtime, self.places.recording, self.places.profiles):
            folder.mkdir(mode=0o700, parents=True)
        description = RunDescription(
            run_id=self.run_id,
            name="train",
            command=["train.py"],
            cwd=str(host.folder),
            host=host.name,
            started_unix=time.time(),
            hosts=plan,
        )
        write_record(self.places.description, description)
        self.hub: subprocess.Popen[str] | None = None

    def start_hub(self) -> None:
        self.hub = self.host.start([sys.executable, "-m", "perftui.trainer.hub", self.run_id], log="hub.log")

    def kill_hub(self) -> None:
        assert self.hub is not None
        command = f"perftui.trainer.hub {self.run_id}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and _is(entry, command):
                self.host.run(["kill", "-9", _inner_pid(entry)])
        self.hub.wait(DEADLINE_S)

    def ranks(self, first: int, count: int, world: int, *more: Path) -> None:
        numbers = [str(number) for number in (first, count, world)]
        script: list[str | Path] = [
            sys.executable,
            "-m",
            "tests.hosts.fake_ranks",
            self.run_id,
            *numbers,
            *more,
        ]
        self.host.start(script, log="ranks.log", PYTHONPATH=ROOT)

    def enough(self) -> None:
        (self.places.state / "enough").touch()


def _is(entry: Path, command: bytes) -> bool:
    try:
        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return False
    return command in words and b"nsenter" not in words


def _inner_pid(entry: Path) -> str:
    lines = (entry / "status").read_text().splitlines()
    return next(line.split()[-1] for line in lines if line.startswith("NSpid:"))


class Stage:
    """All of them; the first host leads."""

    def __init__(self, hosts: Hosts, members: int) -> None:
        self.key: KeyFile = new_job_key()
        self.port = self.key.port
        lead = hosts[0]
        self.key_files: dict[str, Path] = {}
        self.parts: list[Part] = []
        for number, host in enumerate(hosts.hosts[: members + 1]):
            path = host.folder / "job.key"
            write_key(path, self.key)
            role: Literal["lead", "member"] = "member" if number else "lead"
            plan = HostsPlan(role=role, host=lead.address, port=self.port, key=str(path))
            self.parts.append(Part(host, plan))
        self.link = DashboardLink(self.parts[0].places.dashboard_socket)

    def until(self, true_of: Callable[[Update], bool], seconds: float = DEADLINE_S) -> Update:
        """Take snapshots at the lead until one fits."""
        return snapshot_until(self.link, true_of, seconds)

    def close(self) -> None:
        self.link.close()


def snapshot_until(
    link: DashboardLink,
    true_of: Callable[[Update], bool],
    seconds: float,
    said: Callable[[], str] = lambda: "",
) -> Update:
    """Take snapshots until one fits; `said` is asked what else there is to know where none does."""
    deadline = time.monotonic() + seconds
    last: Update | None = None
    while time.monotonic() < deadline:
        try:
            last = link.snapshot(2.0)
        except ConnectionLost:
            continue
        if true_of(last):
            return last
        time.sleep(0.05)
    raise AssertionError(f"never came true; last: {last.view.links if last else None}; {said()}")


def link_of(update: Update, host: str) -> HostLink | None:
    return next((link for link in update.view.links if link.host == host), None)


def state_of(update: Update, host: str) -> str | None:
    found = link_of(update, host)
    return found.state if found else None


def steps_of(update: Update) -> dict[int, int]:
    return {view.rank: view.steps for view in update.view.ranks}


def host_news(update: Update) -> list[str]:
    """Return what happened to hosts, of a snapshot."""
    return [mark.text for mark in update.marks if mark.event == "host"]


def hosts_of(update: Update) -> list[str]:
    """Return the host of each rank, by rank: a snapshot has them as they came."""
    return [view.host for view in sorted(update.view.ranks, key=lambda view: view.rank)]
