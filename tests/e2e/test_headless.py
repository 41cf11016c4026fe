"""`perftui run --no-tui` on scripts that never heard of it: what is measured, what passes through."""

import json
import os
import re
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.waiting import wait_until

from .conftest import Desk
from .scripts import STARVED, TWO_RANKS

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def summary_of(desk: Desk, name: str = "out.json") -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((desk.folder / name).read_text())
    return summary


def test_a_starved_script_is_measured_and_passes_through(desk: Desk) -> None:
    script = desk.script(STARVED)
    plain = subprocess.run(
        [sys.executable, str(script), "80", "7", "0.004"], capture_output=True, text=True, check=False
    )
    done = desk.perftui(
        "run", "--no-tui", "--json", "out.json", "--", sys.executable, str(script), "80", "7", "0.004"
    )
    assert done.returncode == plain.returncode == 7
    assert done.stdout == plain.stdout, "the output, and with it every loss, is the plain run's"
    assert "to stderr" in done.stderr
    summary = summary_of(desk)
    assert summary["schema"] == 1
    assert summary["exit_code"] == 7
    (rank,) = summary["ranks"]
    assert rank["steps"] == 80, "as the script counts"
    assert rank["dropped"] == 0
    assert rank["probe_errors"] == 0
    shares = [share for share in rank["shares"].values() if share is not None]
    assert sum(shares) == pytest.approx(1.0, abs=0.01)
    assert rank["shares"]["loader_wait"] > 0.5
    assert rank["step_ms"]["mean"] >= 16.0, "four items of 4 ms each"
    assert rank["settings"]["loader.num_workers"] == 0
    lead = summary["findings"][0]
    assert lead["code"] == "input.workers"
    assert lead["remedy"]["set"]["loader.num_workers"] >= 1
    assert lead["remedy"]["bound"] == pytest.approx(1 / (1 - lead["share"]), rel=0.02)


def test_a_setting_is_applied_and_read_back(desk: Desk) -> None:
    script = desk.script(STARVED)
    done = desk.perftui(
        "run", "--no-tui", "--json", "-", "--set", "loader.num_workers=1",
        "--", sys.executable, str(script), "60", "0", "0.001",
    )  # fmt: skip
    assert done.returncode == 0
    summary = json.loads(done.stdout[done.stdout.index("{") :])
    assert summary["settings"] == {"loader.num_workers": 1}
    assert summary["ranks"][0]["settings"]["loader.num_workers"] == 1
    assert summary["ranks"][0]["settings_failed"] == {}


def test_seconds_end_the_run_in_time(desk: Desk) -> None:
    script = desk.script(STARVED)
    done = desk.perftui(
        "run", "--no-tui", "--json", "out.json", "--seconds", "3",
        "--", sys.executable, str(script), "100000", "0", "0.004",
    )  # fmt: skip
    assert done.returncode == 0
    summary = summary_of(desk)
    assert summary["stopped_by"] == "seconds"
    assert summary["exit_code"] == -signal.SIGTERM
    assert summary["ranks"][0]["steps"] > 10


def test_a_killed_training_is_told_as_a_shell_would(desk: Desk) -> None:
    script = desk.script(STARVED)
    process = desk.start(
        "run", "--no-tui", "--json", "out.json", "--", sys.executable, str(script), "100000", "0", "0.004"
    )
    run_id = desk.live_run()
    wait_until(lambda: desk.steps(run_id) > 10, "it trains")
    description = json.loads((desk.state / "perftui" / "runs" / run_id / "run.json").read_text())
    os.kill(description["training_pid"], signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGKILL
    assert summary_of(desk)["exit_code"] == -signal.SIGKILL


def test_of_two_ranks_the_starved_one_is_marked(desk: Desk) -> None:
    script = desk.script(TWO_RANKS)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = desk.perftui("run", "--no-tui", "--json", "out.json", "--", *torchrun, str(script))
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"rank (\d) steps 150", done.stdout)) == ["0", "1"], done.stdout
    summary = summary_of(desk)
    assert [rank["steps"] for rank in summary["ranks"]] == [150, 150]
    waits = [rank["shares"]["loader_wait"] for rank in summary["ranks"]]
    assert waits[1] > 0.5 > waits[0]
    lead = summary["findings"][0]
    assert (lead["code"], lead["rank"]) == ("rank.straggler_input", 1)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["run", "--no-tui", "--set", "loader.numworkers=2", "--", "true"], 2, "unknown setting"),
        (["run", "--no-tui", "--set", "loader.num_workers=two", "--", "true"], 2, "expected a whole number"),
        (["run", "--no-tui"], 2, "command"),
        (["run", "--no-tui", "--", "no-such-command-here"], 127, "no-such-command-here"),
        (["status", "nothing"], 3, "nothing"),
        (["stop", "nothing"], 3, "nothing"),
        (["replay", "/nonexistent"], 1, "/nonexistent"),
    ],
)
def test_bad_input_gets_one_clear_line(desk: Desk, arguments: list[str], code: int, told: str) -> None:
    done = desk.perftui(*arguments)
    assert done.returncode == code
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1
    assert told in lines[0]


def test_a_script_that_dies_at_once_shows_its_last_lines(desk: Desk) -> None:
    script = desk.script("raise SystemExit('the data folder is missing')")
    done = desk.perftui("run", "--no-tui", "--", sys.executable, str(script))
    assert done.returncode == 1
    assert "the data folder is missing" in done.stderr


def test_without_a_run_there_is_a_hint(desk: Desk) -> None:
    done = desk.perftui()
    assert done.returncode == 3
    assert "perftui run" in done.stderr
