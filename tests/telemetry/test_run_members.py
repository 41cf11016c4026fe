"""Which processes are the run's: by the tag in their environment, asked as rarely as can be."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from perftui.trainer.telemetry.pace import OwnCost, Pace
from perftui.trainer.telemetry.proc_files import boot_seconds
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.telemetry.run_members import RunMembers
from tests.telemetry.fake_root import lay, stat

RUN_ID = "members-test-0001"
TAG = f"HOME=/\0PERFTUI_RUN_ID={RUN_ID}\0LANG=C\0"
OTHER = f"PERFTUI_RUN_ID={RUN_ID}-b\0"


def _process(pid: int, environment: str, started: int = 5) -> dict[str, str]:
    return {f"proc/{pid}/stat": stat(pid, started), f"proc/{pid}/environ": environment}


def test_the_tag_decides_and_scans_are_five_seconds_apart(tmp_path: Path) -> None:
    members = RunMembers(RUN_ID, tmp_path)
    lay(tmp_path, {**_process(10, TAG, 50), **_process(11, OTHER), "proc/meminfo": ""})
    assert members.read(100.0) == {10: 50}
    lay(tmp_path, _process(12, TAG, 60))
    assert members.read(104.0) == {10: 50}
    assert members.read(105.0) == {10: 50, 12: 60}


def test_a_process_seen_before_its_exec_is_asked_again(tmp_path: Path) -> None:
    members = RunMembers(RUN_ID, tmp_path)
    lay(tmp_path, _process(10, OTHER))
    assert members.read(100.0) == {}
    lay(tmp_path, _process(10, TAG))
    assert members.read(105.0) == {10: 5}


def test_settled_processes_are_asked_again_only_once_a_minute(tmp_path: Path) -> None:
    members = RunMembers(RUN_ID, tmp_path)
    lay(tmp_path, _process(10, OTHER))
    for now in (100.0, 105.0):
        members.read(now)
    lay(tmp_path, _process(10, TAG))
    assert members.read(110.0) == {}
    assert members.read(160.0) == {10: 5}


def test_a_pid_that_was_given_away_is_no_member(tmp_path: Path) -> None:
    members = RunMembers(RUN_ID, tmp_path)
    lay(tmp_path, _process(10, TAG, 50))
    for now in (100.0, 105.0, 110.0):
        assert members.read(now) == {10: 50}
    lay(tmp_path, _process(10, OTHER, 99))
    assert members.read(115.0) == {}
    shutil.rmtree(tmp_path / "proc")
    assert members.read(120.0) == {}


def test_a_real_process_is_found() -> None:
    code = "import sys; print(1, flush=True); sys.stdin.read()"
    environment = {**os.environ, "PERFTUI_RUN_ID": RUN_ID}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert RunMembers(RUN_ID).read(boot_seconds()) == {process.pid: start_ticks(process.pid)}
        assert process.stdin is not None
        process.stdin.close()


def test_what_takes_too_long_becomes_rarer_and_recovers() -> None:
    pace = Pace(2.0, 0.005)
    assert pace.age_s(100.0) is None
    assert pace.due(100.0)
    assert not pace.due(101.5)
    assert pace.due(101.8)  # a moment early
    assert pace.age_s(103.0) == 103.0 - 101.8
    pace.took(0.02)
    assert pace.period_s == 4.0
    assert not pace.due(104.0)
    pace.took(0.001)
    assert pace.due(104.0)


def test_the_own_cost_is_that_of_the_last_readings() -> None:
    cost = OwnCost(readings=2)
    assert cost.share(1.0) is None
    for at, cpu_s in ((10.0, 9.0), (11.0, 0.01), (12.0, 0.02), (13.0, 0.03)):
        cost.add(at, cpu_s)
    assert cost.share(14.0) == (0.01 + 0.02 + 0.03) / 3
