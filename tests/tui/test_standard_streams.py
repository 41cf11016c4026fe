"""Standard output that is full, or cannot take every character: words, and never a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.simulator.job import Job
from benchmarks.simulator.recordings import write_recording
from tests.tui.pty_terminal import Terminal

PERFTUI = (sys.executable, "-m", "perftui.tui")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of a run of five seconds."""
    folder = tmp_path_factory.mktemp("recording")
    job = Job(run_id="r-1", ranks=1, steps_per_s=5.0, scenario="healthy", ranks_per_host=8, gpu=False)
    write_recording(job, folder, 5.0)
    return folder


def perftui(*words: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    changed = {**os.environ, **environment}
    return subprocess.run([*PERFTUI, *words], env=changed, capture_output=True, check=False)


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_every_text_can_be_written_in_every_encoding(recorded: Path, encoding: str) -> None:
    done = perftui("replay", str(recorded), PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    dash = "—" if encoding == "utf-8" else "-"
    assert f" {dash} " in done.stdout.decode(encoding)


@pytest.mark.usefixtures("places")
def test_a_json_document_is_utf8_whatever_the_locale_says() -> None:
    done = perftui("ls", "--json", PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout.decode())["runs"] == []


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("changed", [{"LC_ALL": "C"}, {"PERFTUI_ASCII": "1"}, {}])
def test_what_is_printed_on_a_terminal_is_what_it_can_show(recorded: Path, changed: dict[str, str]) -> None:
    environment = {"LC_CTYPE": "", "LANG": "", "TERM": "dumb", **changed}
    script = f"import sys; from perftui.tui.cli import main; sys.exit(main(['replay', '{recorded}']))"
    terminal = Terminal(80, 24, ("-c", script), environment=environment)
    try:
        assert terminal.wait_for_exit() == 0
        assert b"SAMPLES/s" in terminal.raw
        assert terminal.raw.isascii() is bool(changed)
    finally:
        terminal.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.usefixtures("places")
def test_a_full_standard_output_is_told_in_one_line(recorded: Path) -> None:
    for words in (["ls", "--json"], ["replay", str(recorded)], ["config"], ["ledger"], ["env"]):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run([*PERFTUI, *words], stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 1, words
        assert done.stderr.decode() == "perftui: cannot write what was asked for: No space left on device\n"
