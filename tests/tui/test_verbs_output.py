"""What the verbs print: a foreign name begins no line of its own and steers no terminal; JSON stays JSON."""

import json

import pytest

from perftui.ipc.run_lines import RunLine
from perftui.tui.verbs.live_runs import write_runs
from perftui.tui.verbs.output import ask, say, write, write_json

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
FORGED = "train.py\nforged-20260101-000000-0000  running  1  0 s ago  python evil.py"


def _steers(text: str) -> bool:
    return any(mark in text for mark in "\x1b\x07\x9b\u202e\r")


def test_ls_shows_one_line_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    line = RunLine(
        run_id="a-1", name=HOSTILE, pid=1, state="running", started=0.0, command=["python", FORGED, HOSTILE]
    )
    write_runs([line])
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == 2
    assert not _steers(shown)


def test_words_and_questions_steer_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(f"a{HOSTILE}b\nc")
    say(f"error: {HOSTILE}")
    monkeypatch.setattr("sys.stdin.readline", lambda: "y\n", raising=False)
    shown = capsys.readouterr()
    assert not _steers(shown.out + shown.err)
    assert shown.out.splitlines()[1] == "c"
    assert callable(ask)


def test_json_says_the_same_and_steers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"name": HOSTILE})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"name": HOSTILE}
    assert not _steers(shown)
