"""`perftui VERB --help`: what the verb does, and a word on each thing that may be written after it."""

import re

import pytest

from perftui.tui.cli import main

VERBS = (
    "run", "tune", "ls", "status", "ledger", "report", "compare", "doctor", "env", "stop", "profile",
    "relaunch", "trace", "demo", "replay", "config", "key",
)  # fmt: skip


def test_these_are_all_verbs_and_each_says_what_it_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["--help"]) == 0
    told = dict(re.findall(r"^    (\w+) +(\S.*)$", capsys.readouterr().out, re.MULTILINE))
    assert sorted(told) == sorted(VERBS)
    for verb, what in told.items():
        assert main([verb, "--help"]) == 0
        assert f"{what[0].upper()}{what[1:]}" in capsys.readouterr().out


@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_is_explained(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main([verb, "--help"]) == 0
    listed = capsys.readouterr().out.partition("\n\n")[2]
    listed = re.sub(r"\n {10,}", "   ", listed)  # below a long name
    rows = [row for row in listed.splitlines() if re.match(r"  \S", row)]
    assert rows
    assert [row for row in rows if "  " not in row.strip()] == []
