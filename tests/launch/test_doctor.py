"""The environment check, and what versions fit together."""

import json
import os
import pty
import subprocess
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

import pytest

from perftui.trainer.launch import doctor, terminal_check
from perftui.trainer.launch.interpreter import InterpreterCheck
from perftui.trainer.launch.outcome import Ending, last_lines, outcome_of
from perftui.trainer.launch.terminal_check import terminal_checks
from perftui.trainer.launch.versions import version_checks
from perftui.trainer.telemetry.py_spy import MISSING
from tests.launch.entry import ENTRY


@pytest.mark.parametrize(
    ("torch", "vision", "needs", "state"),
    [
        ("2.14.1+cu130", "0.29.1", "torch==2.14.1", "ok"),
        ("2.14.0", "0.29.1", "torch==2.14.1", "bad"),
        ("2.4.0", "0.19.0", None, "ok"),
        ("2.11.0a0+git", "0.25.0", None, "bad"),
        ("2.11.0a0+git", "0.26.0a0", "torch", "ok"),
    ],
)
def test_torchvision_belongs_to_its_torch(torch: str, vision: str, needs: str | None, state: str) -> None:
    check = InterpreterCheck(torch=torch, torchvision=vision, torchvision_needs=needs)
    assert {name: found for found, name, _, _ in version_checks(check)}["torchvision"] == state


def test_a_torch_that_is_too_old_is_bad() -> None:
    ((state, _, text, _),) = version_checks(InterpreterCheck(torch="2.3.1"))
    assert state == "bad"
    assert "2.3.1" in text


def test_the_report_as_json_and_as_lines() -> None:
    done = subprocess.run([*ENTRY, "doctor", "--json"], capture_output=True, check=False)
    report = json.loads(done.stdout)
    states = {check["name"]: check["state"] for check in report["checks"]}
    assert {"python", "torch", "gpu", "cpus", "/dev/shm", "open files", "py-spy", "terminal"} <= set(states)
    assert done.returncode == int("bad" in states.values())
    plain = subprocess.run([*ENTRY, "doctor"], capture_output=True, text=True, check=False)
    assert len(plain.stdout.splitlines()) == len(states)


def test_a_missing_command_is_bad() -> None:
    done = subprocess.run(
        [*ENTRY, "doctor", "--", "no-such-program"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "no-such-program: command not found" in done.stdout


def in_terminal(words: list[str], columns: int, rows: int, term: str, home: Path) -> tuple[int, str]:
    """Run perftui on a real pseudo-terminal; return its code and what it wrote there."""
    master, slave = pty.openpty()
    ioctl(slave, TIOCSWINSZ, pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [*ENTRY, *words], stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": term}, cwd=home
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        shown += data
    os.close(master)
    return process.wait(60), shown.decode()


def test_the_terminals_own_size_is_told_not_one_that_was_exported(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "12")
    _, shown = in_terminal(["doctor"], 100, 30, "xterm-256color", home)
    assert "xterm-256color, 100 x 30" in shown
    _, shown = in_terminal(["doctor"], 0, 0, "xterm-256color", home)
    assert "xterm-256color, its size is not known" in shown


UTF8 = {"LANG": "C.UTF-8"}
ASCII = "the dashboard is drawn with ASCII"


def _described(term: str) -> int:
    return 0 if term == "vt100" else 8


@pytest.mark.parametrize(
    ("environment", "colours", "encoding"),
    [
        ({"TERM": "xterm", **UTF8}, "16", "UTF-8"),
        ({"TERM": "xterm", "NO_COLOR": "", **UTF8}, "16", "UTF-8"),
        ({"TERM": "xterm", "NO_COLOR": "1", **UTF8}, "off (NO_COLOR)", "UTF-8"),
        ({"TERM": "xterm", "COLORTERM": "TrueColor", **UTF8}, "16 million", "UTF-8"),
        ({"TERM": "xterm-kitty", **UTF8}, "256", "UTF-8"),
        ({"TERM": "linux", **UTF8}, "16", f"UTF-8: {ASCII} (TERM=linux)"),
        ({"TERM": "vt100", **UTF8}, "none, by this terminal's description", f"UTF-8: {ASCII} (TERM=vt100)"),
        ({"TERM": "xterm", "PERFTUI_ASCII": "1", **UTF8}, "16", f"UTF-8: {ASCII} (PERFTUI_ASCII)"),
        ({"TERM": "xterm", "LC_ALL": "C"}, "16", f"not UTF-8: {ASCII}"),
        ({"TERM": "xterm", "LC_ALL": "C", "PERFTUI_ASCII": "0"}, "16", "not UTF-8"),
        ({"TERM": "xterm"}, "16", "no locale is set"),
        ({"TERM": "xterm", "TMUX": "/tmp/t,1,0"}, "16", f"no locale is set: {ASCII}"),
    ],
)
def test_colours_and_characters_are_told_as_the_dashboard_has_them(
    environment: dict[str, str], colours: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        terminal_check, "described_colours", _described
    )  # a process reads one description only
    said = {name: (state, text) for state, name, text, _ in terminal_checks(environment)}
    assert said["colours"] == ("ok", colours)
    assert said["encoding"] == ("ok" if "LANG" in environment else "warn", encoding)


def test_a_terminal_that_is_too_small_is_one_clear_line(home: Path) -> None:
    code, shown = in_terminal(["run", "--", "python", "-c", "pass"], 30, 8, "xterm-256color", home)
    assert code == 4
    assert "30 x 8" in shown
    assert "40 x 12" in shown
    assert "\x1b" not in shown


def test_a_dumb_terminal_is_not_drawn_on(home: Path) -> None:
    code, shown = in_terminal(["run", "--", "python", "-c", "print('plain')"], 120, 40, "dumb", home)
    assert code == 0
    assert "plain" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("ending", "word"),
    [
        (Ending(-9, None, "", 500.0, True, 1), "oom_host"),
        (Ending(1, None, "DataLoader worker (pid 3) is killed by signal: Killed.", 9.0, True, 2), "oom_host"),
        (Ending(-9, None, "", 500.0, True, 0), "failed"),
        (Ending(0, "steps", "", 9.0, True, 0), "stopped"),
        (Ending(1, None, "", 9.0, False, 0), "died_at_start"),
        (Ending(1, None, "", 999.0, False, 0), "failed"),
    ],
)
def test_outcomes(ending: Ending, word: str) -> None:
    assert outcome_of(ending) == word


def test_last_lines_show_what_a_terminal_would() -> None:
    text = "first\r\n10%\r 50%\r100%\n\n\x1b]0;title\x07\x1b[1mbold\x1b[0m\x00\n"
    assert last_lines(text) == ["first", "100%", "bold"]


@pytest.mark.parametrize(
    ("why", "told"),
    [
        (None, ("ok", None)),
        (MISSING, ("warn", "pip install py-spy")),
        (
            "py-spy may not look into the loader workers; allow it with: sudo x",
            ("warn", "allow it with: sudo x"),
        ),
    ],
)
def test_what_looks_into_loader_workers(
    monkeypatch: pytest.MonkeyPatch, why: str | None, told: tuple[str, str | None]
) -> None:
    monkeypatch.setattr(doctor, "find_py_spy", lambda: None if why == MISSING else "/bin/py-spy")
    monkeypatch.setattr(doctor, "why_unseen", lambda: why)
    check = next(each for each in doctor.examine([]).checks if each.name == "py-spy")
    assert (check.state, check.advice) == told
