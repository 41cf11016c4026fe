"""The audit of a run: whole lines from several processes, bounded, the user's alone."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from perftui.ipc import audit
from perftui.ipc.audit import Actor, actor_of, note, read_audit, this_process

WRITER = """
import sys
from pathlib import Path
from perftui.ipc.audit import note, this_process
for number in range(200):
    note(Path(sys.argv[1]), this_process(), "profile", "done", told=f"{number}" * 50)
"""


def test_a_line_says_who_when_what_and_the_result(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    note(
        path, this_process(), "stop", "refused", command_id="c1", given={"grace_s": 3.0}, told="it has ended"
    )
    (line,) = read_audit(path)
    assert (line.what, line.result, line.told, line.command_id) == ("stop", "refused", "it has ended", "c1")
    assert line.given == {"grace_s": 3.0}
    assert (line.actor.uid, line.actor.pid) == (os.getuid(), os.getpid())
    assert line.actor.user
    assert line.unix > 1.7e9


def test_it_is_the_user_s_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        note(tmp_path / "audit.jsonl", Actor(by="hub"), "stop", "accepted")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "audit.jsonl").stat().st_mode) == 0o600


def test_several_processes_tear_no_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) for _ in range(3)]
    assert [writer.wait(60.0) for writer in writers] == [0, 0, 0]
    lines = read_audit(path)
    assert len(lines) == len(path.read_bytes().splitlines()) == 600
    assert {line.actor.pid for line in lines} == {writer.pid for writer in writers}


def test_it_is_bounded_and_the_newest_lines_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_HALF_BYTES", 4096)
    path = tmp_path / "audit.jsonl"
    for number in range(200):
        note(path, Actor(by="hub"), "stop", "accepted", told=str(number))
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) < 3 * 4096
    assert read_audit(path)[-1].told == "199"


def test_a_disk_that_takes_no_more_and_an_unknown_user_cost_nothing(tmp_path: Path) -> None:
    note(tmp_path / "absent" / "audit.jsonl", actor_of(4_000_000_000, 1), "stop", "accepted")
    assert actor_of(4_000_000_000, 1).user is None
    assert read_audit(tmp_path / "absent" / "audit.jsonl") == []
