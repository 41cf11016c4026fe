"""Going through a recording: any way to a time shows what playing shows, and how it is played is told."""

from pathlib import Path

import msgspec
import pytest

from perftui.ipc.dashboard_messages import SeekCommand
from perftui.ipc.messages import Effective
from perftui.ipc.recording import Entry, RecordingWriter
from perftui.ipc.settings import SettingValue
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.judge import Judge
from perftui.trainer.hub.replay_run import ReplayRun
from perftui.trainer.hub.views import header
from tests.hub.made_messages import START_UNIX, batch, hello
from tests.made_loader import LOADER

SECONDS = 160
STEPS_A_SECOND = 10


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rank that begins to wait for its loader half way."""
    folder = tmp_path_factory.mktemp("run")
    writer = RecordingWriter(folder / "recording", 64 * 1024 * 1024)
    (folder / "recording").mkdir()
    settings: dict[str, SettingValue] = {"loader.num_workers": 0}
    told = Effective(
        run_id="r", host="h", rank=0, seq=1, settings=settings, failed={}, loader=LOADER, device="cpu"
    )
    fold, judge = RunFold(), Judge()

    def record(entry: Entry) -> None:
        fold.apply(entry)
        writer.append(entry)

    record(Entry(unix=START_UNIX, message=hello()))
    record(Entry(unix=START_UNIX, message=told))
    for second in range(SECONDS):
        steps = batch(second * STEPS_A_SECOND, STEPS_A_SECOND, seq=second + 2)
        if second < SECONDS // 2:
            waits = [0] * STEPS_A_SECOND
            busy = [each * 6 for each in steps.forward_ns]
            steps = msgspec.structs.replace(steps, wait_ns=waits, forward_ns=busy)
        now = START_UNIX + second + 1
        record(Entry(unix=now, message=steps))
        judge.look(fold, now, began_s=START_UNIX)
        if judge.appeared:  # as a live hub does
            writer.append(Entry(unix=now, appeared=judge.appeared))
    writer.close()
    return folder


def sought(run: ReplayRun, elapsed_s: float) -> tuple[object, ...]:
    """Go to a time, and return what is shown there."""
    run.take(SeekCommand(command_id="c", elapsed_s=elapsed_s, paused=True), b"")
    run.advance()
    return run.fold.steps_done(), run.now(), run.findings(), run.unjudged(), run.marks(0)


def test_a_jump_shows_what_playing_shows(recorded: Path) -> None:
    played = ReplayRun(recorded, at_end=False, speed=1.0)
    shown = [sought(played, float(second)) for second in range(0, SECONDS, 10)]
    assert shown[0] != shown[-1]
    codes = [[finding.code for finding in each[2]] for each in shown]  # type: ignore[attr-defined]
    assert codes[7] != codes[15], "the wait begins in between"
    jumping = ReplayRun(recorded, at_end=True, speed=1.0)
    for at in (15, 3, 12, 0, 8):
        assert sought(jumping, 10.0 * at) == shown[at], f"at {10 * at} s"


def test_only_going_back_takes_a_new_snapshot(recorded: Path) -> None:
    run = ReplayRun(recorded, at_end=False, speed=1.0)
    sought(run, 100.0)
    assert not run.jumped
    sought(run, 50.0)
    assert run.jumped


def test_the_header_tells_how_it_is_played(recorded: Path) -> None:
    run = ReplayRun(recorded, at_end=False, speed=4.0)
    top = header(run.fold, run.facts(), run.now())
    assert (top.replay, top.replay_speed, top.replay_paused) == (True, 4.0, False)
    assert top.replay_total_s == float(SECONDS)
    run.take(SeekCommand(command_id="c", speed=0.5, paused=True), b"")
    top = header(run.fold, run.facts(), run.now())
    assert (top.replay_speed, top.replay_paused) == (0.5, True)
    run.take(SeekCommand(command_id="c", elapsed_s=1e9), b"")
    assert header(run.fold, run.facts(), run.now()).elapsed_s == float(SECONDS)
