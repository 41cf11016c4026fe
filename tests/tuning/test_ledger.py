"""The ledger: whole lines only, many writers, deaths in between, versions that do not fit."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.errors import Refused
from perftui.ipc.ledger_records import Comparison, Launch, Verdict
from perftui.trainer.tuning.file_systems import type_of_mount
from perftui.trainer.tuning.ledger import SCHEMA_VERSION, Ledger, open_ledger
from perftui.trainer.tuning.ledger_reading import newest_comparisons
from perftui.trainer.tuning.ledger_verb import ledger_table, show_ledger
from tests.made_ledger import made_comparison, made_launch

WRITER = """
import sys
from pathlib import Path
from perftui.ipc.ledger_records import Comparison, Launch, Verdict
from perftui.trainer.tuning.ledger import open_ledger

path, prefix, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(count):
    launch = Launch(run_id=f"{prefix}{number}", label="A", settings={}, outcome="stopped")
    line = Comparison(
        comparison_id=f"{prefix}-{number}", unix=number, name=prefix, host="h", command=["x"],
        before={}, set={}, semantics="neutral", bound=None, expected=None, launches=[launch],
        verdict=Verdict(verdict="failed", sentence="s"),
    )
    with open_ledger(path) as ledger:
        ledger.append(line, [[0.1] * 300])
    print(number, flush=True)
"""


def comparison(ident: str, unix: float = 1.0, host: str = "here", *launches: Launch) -> Comparison:
    return made_comparison(
        ident,
        *launches,
        unix=unix,
        name="resnet",
        host=host,
        command=["python", "train.py"],
        bound=3.0,
        expected=2.0,
        verdict=Verdict(verdict="faster", sentence="x", gain=0.84, lo=0.71, hi=0.98, launches=2, steps=212),
        commit="0123456789abcdef",
        dirty=True,
    )


def launch(label: str, log_step_s: float | None, se: float = 0.003, *, settled: bool = True) -> Launch:
    effective = {"loader.num_workers": 0}
    return made_launch(label, log_step_s=log_step_s, se=se, df=9.0, effective=effective, settled=settled)


def test_lines_come_back_newest_first(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        for number in range(5):
            ledger.append(comparison(f"c{number}", number, "there" if number == 2 else "here"))
        assert [line.comparison_id for line in ledger.newest(3)] == ["c4", "c3", "c2"]
        assert [line.comparison_id for line in ledger.newest(host="there")] == ["c2"]
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.newest(1)[0] == comparison("c4", 4)


def test_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as ledger:
        ledger.append(comparison("c"))
        modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {0o600}


def test_raw_steps_are_kept(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.append(comparison("c", 1, "h", launch("A", -1.0), launch("B", -2.0)), [[0.25, 0.5], [0.125]])
        assert ledger.steps_s("c") == [[0.25, 0.5], [0.125]]
        ledger.append(comparison("d", 1, "h", launch("A", None)))
        assert ledger.steps_s("d") == []


def test_one_line_twice_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.append(comparison("c", 1, "h", launch("A", -1.0)), [[0.5]])
        with pytest.raises(Refused, match="could not be written"):
            ledger.append(comparison("c", 2, "h", launch("A", -1.0)), [[0.7]])
        assert len(ledger.newest()) == 1
        assert ledger.steps_s("c") == [[0.5]]


def test_a_newer_ledger_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(Refused, match=r"newer perftui .*update"):
        Ledger(path)
    assert path.read_bytes() == before


def test_no_ledger_at_all_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"these are my notes, not a database, and they are long enough to be one" * 20)
    with pytest.raises(Refused, match="move it away"):
        Ledger(path)


@pytest.mark.parametrize("record", ["{}", "not JSON", "[" * 100_000], ids=["empty", "no JSON", "deep"])
def test_a_damaged_line_is_one_clear_error(tmp_path: Path, record: str) -> None:
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as ledger:
        ledger.append(comparison("a"))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE comparisons SET record = ?", (record,))
    connection.commit()
    connection.close()
    with open_ledger(path) as ledger, pytest.raises(Refused, match="a line of the ledger cannot be read"):
        ledger.newest()
    with pytest.raises(Refused, match="the ledger cannot be read"):
        newest_comparisons(path, 10)


def test_lines_of_other_hosts_do_not_crowd_out_those_of_one(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    assert newest_comparisons(path, 2, "mine") == []
    with open_ledger(path) as ledger:
        for place, host in enumerate(["mine", "mine", "other", "other", "other"]):
            ledger.append(msgspec.structs.replace(comparison(str(place)), host=host, unix=float(place)))
        assert [each.comparison_id for each in ledger.newest(2, "mine")] == ["1", "0"]
    assert [each.comparison_id for each in newest_comparisons(path, 2, "mine")] == ["1", "0"]
    assert [each.comparison_id for each in newest_comparisons(path, 2)] == ["4", "3"]


def test_a_line_with_a_hostile_name_is_one_row_of_the_table() -> None:
    line = msgspec.structs.replace(comparison("a"), name="x\nforged  row\x1b[2J")
    rows = ledger_table([line]).splitlines()
    assert len(rows) == 2
    assert "\x1b" not in rows[1]


def start_writer(path: Path, prefix: str, count: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), prefix, str(count)], stdout=subprocess.PIPE, text=True
    )


def test_two_writers_at_once_and_one_killed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    steady, doomed = start_writer(path, "steady", 30), start_writer(path, "doomed", 100000)
    assert steady.stdout is not None
    assert doomed.stdout is not None
    try:
        printed = [doomed.stdout.readline() for _ in range(8)]
        os.kill(doomed.pid, signal.SIGKILL)
        assert printed[-1].strip() == "7"
        printed += doomed.stdout.readlines()
        assert doomed.wait(30) == -signal.SIGKILL
        assert steady.wait(60) == 0
    finally:
        for writer in (steady, doomed):
            if writer.poll() is None:
                writer.kill()
            writer.wait()
            assert writer.stdout is not None
            writer.stdout.close()
    with open_ledger(path) as ledger:
        names = [line.name for line in ledger.newest()]
        told = len([line for line in printed if line.endswith("\n")])
        assert names.count("steady") == 30
        assert told <= names.count("doomed") <= told + 1
        assert all(len(ledger.steps_s(line.comparison_id)) == 1 for line in ledger.newest())
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_write_ahead_log_only_where_memory_can_be_shared() -> None:
    mounts = (
        "22 1 0:20 / / rw - overlay overlay rw\n"
        "30 22 0:30 / /home rw - nfs4 server:/home rw\n"
        "31 30 0:31 / /home/me/my\\040disk rw - ext4 /dev/sda rw\n"
        "garbage\n"
    )
    assert type_of_mount("/var/x", mounts) == "overlay"
    assert type_of_mount("/home/me/.local", mounts) == "nfs4"
    assert type_of_mount("/home/me/my disk/x", mounts) == "ext4"
    assert type_of_mount("/homes", mounts) == "overlay"
    assert type_of_mount("/var", "") is None


def test_table_and_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    written: list[str] = []
    show_ledger(as_json=False, limit=5, write=written.append)
    assert written == ["The ledger is empty: nothing has been compared yet.\n"]
    line = comparison("c", time.time(), "h", launch("A", -1.0))
    with open_ledger(tmp_path / "perftui" / "ledger.sqlite") as ledger:
        ledger.append(line)
    written.clear()
    assert show_ledger(as_json=True, limit=5, write=written.append) == 0
    document = json.loads("".join(written))
    assert document["schema"] == 1
    assert msgspec.convert(document["comparisons"][0], Comparison) == line
    table = ledger_table([line]).splitlines()
    assert table[0].split()[:3] == ["when", "run", "change"]
    for part in ("loader.num_workers 0 → 2", "+84 %", "+71 to +98 %", "faster", "01234567*"):
        assert part in table[1]
