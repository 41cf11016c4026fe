"""torchrun with gloo over hosts that are really apart, perftui on each: as a user has it."""

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import Update
from perftui.ipc.link_keys import new_job_key, write_key
from perftui.ipc.run_files import ExitRecord, read_record
from perftui.trainer.telemetry.py_spy import find_py_spy
from tests.conftest import RuntimeDirs
from tests.waiting import wait_until

from .namespaces import Host, Hosts, some_hosts
from .stage import HERE, hosts_of, snapshot_until, state_of, steps_of

PERFTUI = [sys.executable, "-m", "perftui.tui"]
SCRIPT = HERE / "gloo_training.py"
DEADLINE_S = 180.0
_PORT = 29500


def torchrun(hosts: Hosts, number: int, per_host: int, steps: int, folder: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        f"--nnodes={len(hosts.hosts)}",
        f"--nproc-per-node={per_host}",
        *(more or [f"--node-rank={number}", f"--master-addr={hosts[0].address}", f"--master-port={_PORT}"]),
        str(SCRIPT),
        str(steps),
        str(folder),
    ]


def losses_in(folder: Path, ranks: int) -> list[list[str]]:
    return [(folder / f"losses.{rank}").read_text().split("\n") for rank in range(ranks)]


def hosts_told_in(folder: Path, ranks: int) -> list[str]:
    """Return where each rank itself says that it runs: torchrun deals ranks out as hosts arrive."""
    return [(folder / f"host.{rank}").read_text() for rank in range(ranks)]


class Job:
    """A training over all hosts, with perftui on each; the first leads, as torchrun's words say."""

    def __init__(
        self, hosts: Hosts, per_host: int, steps: int, folder: Path, *more: str, **variables: str
    ) -> None:
        self.hosts, self.per_host = hosts, per_host
        key = new_job_key()
        self.running: list[subprocess.Popen[str]] = []
        self.run_id = ""
        self.link: DashboardLink | None = None
        for number, host in enumerate(hosts.hosts):
            path = host.folder / "job.key"
            if not path.exists():
                write_key(path, key)
            command = torchrun(hosts, number, per_host, steps, folder, *more)
            self.running.append(
                host.start(
                    [*PERFTUI, "run", "--no-tui", "--no-nvml", "--key", path, "--", *command],
                    log="run.log",
                    **variables,
                )
            )

    @classmethod
    def of(cls, running: list["subprocess.Popen[str]"], hosts: Hosts) -> "Job":
        """Return the job of processes that were started without perftui."""
        made = cls.__new__(cls)
        made.hosts, made.per_host, made.running = hosts, 1, running
        made.run_id, made.link = "", None
        return made

    def attach(self) -> None:
        lead = self.hosts[0]
        wait_until(lambda: list(lead.runtime.glob("*/dash.sock")), "the lead's hub", DEADLINE_S)
        socket = next(iter(lead.runtime.glob("*/dash.sock")))
        self.run_id = socket.parent.name
        self.link = DashboardLink(f"ipc://{socket}")

    def until(self, true_of: Callable[[Update], bool], seconds: float = DEADLINE_S) -> Update:
        assert self.link is not None
        return snapshot_until(self.link, true_of, seconds, self.said)

    def said(self) -> str:
        return "\n".join((host.folder / "run.log").read_text()[-2000:] for host in self.hosts.hosts)

    def all_step(self, least: int) -> Callable[[Update], bool]:
        ranks = range(len(self.hosts.hosts) * self.per_host)
        return lambda update: min(steps_of(update).get(rank, 0) for rank in ranks) >= least

    def perftui(self, host: Host, *words: str) -> "subprocess.CompletedProcess[str]":
        return host.run([*PERFTUI, *words], timeout=DEADLINE_S)

    def codes(self) -> list[int]:
        return [process.wait(DEADLINE_S) for process in self.running]

    def summaries(self) -> list[dict[str, Any]]:
        found = [
            next(iter((host.state / "perftui/runs").glob("*/summary.json"))) for host in self.hosts.hosts
        ]
        return [json.loads(path.read_text()) for path in found]

    def close(self) -> None:
        if self.link is not None:
            self.link.close()


@pytest.fixture
def started() -> Iterator[list[Job]]:
    made: list[Job] = []
    yield made
    for job in made:
        job.close()


def bare(hosts: Hosts, per_host: int, steps: int, folder: Path) -> list[list[str]]:
    """Return the losses of a run without perftui."""
    folder.mkdir()
    running = [
        host.start(torchrun(hosts, number, per_host, steps, folder), log="bare.log")
        for number, host in enumerate(hosts.hosts)
    ]
    assert [process.wait(DEADLINE_S) for process in running] == [0] * len(running)
    return losses_in(folder, per_host * len(hosts.hosts))


@pytest.mark.slow
@pytest.mark.long
def test_two_hosts_in_one_dashboard_a_window_over_both_and_a_cut_cable(
    two_hosts: Hosts,
    tmp_path: Path,
    started: list[Job],
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    steps = 500
    folder = tmp_path / "with"
    folder.mkdir()
    job = Job(two_hosts, 2, steps, folder, WORKERS="1")
    started.append(job)
    job.attach()
    update = job.until(job.all_step(20))
    assert hosts_of(update) == hosts_told_in(folder, 4)

    done = job.perftui(two_hosts[0], "profile", job.run_id, "--steps", "20", "--json")
    window = json.loads(done.stdout)
    assert [rank["rank"] for rank in window["ranks"]] == [0, 1, 2, 3], done.stderr
    assert {rank["state"] for rank in window["ranks"]} == {"done"}
    reports = {view.window_id: view for view in job.until(lambda u: u.view.profiles != []).view.profiles}
    assert all(rank.path and Path(rank.path).exists() for view in reports.values() for rank in view.ranks)
    if find_py_spy() is not None:
        job.until(lambda u: {stack.rank for stack in u.view.profiles[0].worker_stacks} == {0, 1, 2, 3}, 30.0)
    refused = job.perftui(two_hosts[1], "profile", "--json")
    assert refused.returncode == 4
    assert "10.177.0.1" in refused.stderr

    two_hosts[1].plug(into=False)
    cut = time.monotonic()
    job.until(lambda u: state_of(u, "h2") == "lost", 15.0)
    record_testsuite_property("lost_after_s", round(time.monotonic() - cut, 2))
    time.sleep(2.0)
    two_hosts[1].plug(into=True)
    mended = time.monotonic()
    job.until(lambda u: state_of(u, "h2") == "joined", 30.0)
    record_testsuite_property("back_after_s", round(time.monotonic() - mended, 2))
    assert job.codes() == [0, 0], job.said()
    lead, member = job.summaries()
    assert [rank["steps"] for rank in lead["ranks"]] == [steps] * 4
    assert [rank["host"] for rank in member["ranks"]] == ["h2", "h2"]
    assert [host["name"] for host in lead["hosts"]] == ["h1", "h2"]
    assert losses_in(folder, 4) == bare(two_hosts, 2, steps, tmp_path / "without")


@pytest.mark.slow
@pytest.mark.long
def test_four_hosts(namespaces: None, tmp_path: Path, runtime_dirs: RuntimeDirs, started: list[Job]) -> None:
    with some_hosts(4, tmp_path, runtime_dirs.runtime) as hosts:
        folder = tmp_path / "with"
        folder.mkdir()
        job = Job(hosts, 1, 200, folder)
        started.append(job)
        job.attach()
        update = job.until(job.all_step(20))
        assert hosts_of(update) == hosts_told_in(folder, 4)
        assert sorted(hosts_of(update)) == ["h1", "h2", "h3", "h4"]
        assert [link.state for link in update.view.links] == ["lead", "joined", "joined", "joined"]
        assert job.codes() == [0] * 4, job.said()
        assert [rank["steps"] for rank in job.summaries()[0]["ranks"]] == [200] * 4


@pytest.mark.slow
@pytest.mark.long
def test_a_stop_at_the_lead_stops_all_hosts(two_hosts: Hosts, tmp_path: Path, started: list[Job]) -> None:
    job = Job(two_hosts, 1, 100_000, tmp_path)
    started.append(job)
    job.attach()
    job.until(job.all_step(20))
    stopped = job.perftui(two_hosts[0], "stop", job.run_id)
    assert stopped.returncode == 0, stopped.stderr
    job.codes()
    for host in two_hosts.hosts:
        record = read_record(next(iter((host.state / "perftui/runs").glob("*/exit.json"))), ExitRecord)
        assert record is not None
        assert record.stopped_by == "user"


@pytest.mark.slow
@pytest.mark.long
def test_attempts_of_an_elastic_job_are_one_history(
    two_hosts: Hosts, tmp_path: Path, started: list[Job]
) -> None:
    failed = tmp_path / "failed-once"
    rendezvous = ["--rdzv-backend=c10d", f"--rdzv-endpoint=h1:{_PORT}", "--rdzv-id=7", "--max-restarts=1"]
    job = Job(two_hosts, 1, 120, tmp_path, *rendezvous, FAIL_ONCE=str(failed))
    started.append(job)
    job.attach()
    update = job.until(lambda u: u.view.header.attempt == 2 and job.all_step(20)(u))
    (told,) = [mark.text for mark in update.marks if mark.event == "attempt"]
    assert re.fullmatch(r"attempt 2: the ranks were started again, after (59|60) steps", told)
    assert job.codes() == [0, 0], job.said()
    summary = job.summaries()[0]
    (past,) = summary["attempts"]
    assert (past["attempt"], past["steps"]) in ((1, 59), (1, 60))
    assert [rank["steps"] for rank in summary["ranks"]] == [120, 120]


@pytest.mark.slow
@pytest.mark.long
def test_armed_ranks_start_hubs_that_find_each_other(
    two_hosts: Hosts, tmp_path: Path, started: list[Job]
) -> None:
    lines = subprocess.run([*PERFTUI, "env"], capture_output=True, text=True, check=True).stdout
    exports = dict(line.removeprefix("export ").split("=", 1) for line in lines.splitlines())
    armed = {name: shlex.split(value)[0] for name, value in exports.items()}
    key = tmp_path / "job.key"
    write_key(key, new_job_key())
    job = Job.of(
        [
            host.start(
                torchrun(two_hosts, number, 1, 400, tmp_path),
                log="run.log",
                **armed,
                PERFTUI_JOB_KEY=str(key),
            )
            for number, host in enumerate(two_hosts.hosts)
        ],
        two_hosts,
    )
    started.append(job)
    job.attach()
    update = job.until(job.all_step(20))
    assert hosts_of(update) == hosts_told_in(tmp_path, 2)
    assert not update.view.header.owned
    assert [link.state for link in update.view.links] == ["lead", "joined"]
    assert job.codes() == [0, 0], job.said()
