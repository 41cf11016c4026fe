"""`perftui compare A B`: two runs from their recordings, and the words for what comes of it."""

import time
from collections.abc import Iterator
from pathlib import Path

from perftui.ipc.errors import Refused, UsageError
from perftui.ipc.places import ledger_path, run_places
from perftui.ipc.recording import read_recording
from perftui.ipc.run_files import RunDescription, read_record
from perftui.ipc.run_lines import RunLine
from perftui.trainer.text_table import NEVER, table
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.provenance import commit_then
from perftui.trainer.tuning.recorded_run import RecordedRun, recorded_run
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise
from perftui.trainer.tuning.run_comparison import RunComparison, RunSide, compare_runs, why_incomparable
from perftui.trainer.tuning.run_differences import Difference
from perftui.trainer.tuning.verdict import DECIDED
from perftui.trainer.tuning.wording import fine_percent


def compare_recorded(a: RunLine, b: RunLine) -> RunComparison:
    """Compare two runs of this user.

    Raises:
        UsageError: they are one and the same.
        Refused: they ran on different hosts or GPUs.
        RecordingError: one has no readable recording.
    """
    if a.run_id == b.run_id:
        raise UsageError(f"{a.run_id} is both runs; name two")
    first, second = _read(a), _read(b)
    reason = why_incomparable(first, second)
    if reason is not None:
        raise Refused(f"{a.run_id} and {b.run_id} cannot be compared: {reason}")
    return compare_runs(first, second, _noise(min(first.host_names), first.description.command))


def _read(line: RunLine) -> RecordedRun:
    places = run_places(line.run_id)
    description = read_record(places.description, RunDescription)
    if description is None:
        raise Refused(f"{places.description} cannot be read: {line.run_id} cannot be compared")
    commit = commit_then(Path(description.cwd), description.started_unix) if description.cwd else None
    return recorded_run(description, read_recording(places.recording), commit)


def _noise(host: str, command: list[str]) -> Noise:
    if not ledger_path().exists():
        return DEFAULT_NOISE
    with open_ledger(ledger_path()) as ledger:
        return ledger.noise(host, command)


def compare_text(told: RunComparison) -> list[str]:
    """Return a comparison as lines."""
    verdict = told.verdict
    lines = _runs(told)
    word = "" if verdict.verdict == "too_noisy" else f"{verdict.verdict}: "  # whose sentence says so itself
    lines += ["", word + verdict.sentence]
    if verdict.verdict == "provisional":
        lines += [f"  held back: {reason}" for reason in told.held_back]
    lines += [f"  {verdict.loss}"] if verdict.loss else []
    lines += [f"  note: {remark}" for remark in told.remarks]
    if told.differences:
        rows = [("DIFFERS", "A", "B", "")]
        rows += [
            (each.name, each.a or NEVER, each.b or NEVER, each.semantics or "") for each in told.differences
        ]
        lines += ["", *table(rows)]
    return [*lines, *settling(told)]


def _runs(told: RunComparison) -> list[str]:
    rows = [["", "RUN", "STARTED", "STEADY STEPS", "ms/STEP", "KNOWN TO", "SAMPLES/s"]]
    rows += [_row(label, side) for label, side in (("A", told.a), ("B", told.b))]
    return table(rows, frozenset({3, 4, 5, 6}))


def _row(label: str, side: RunSide) -> list[str]:
    launch = side.launch
    return [
        label,
        side.run_id,
        time.strftime("%Y-%m-%d %H:%M", time.localtime(launch.started_unix)),
        str(launch.steps),
        NEVER if launch.step_ms is None else f"{launch.step_ms:.2f}",
        NEVER if launch.se is None else fine_percent(launch.se, signed=False),
        NEVER if launch.samples_per_s is None else f"{launch.samples_per_s:.1f}",
    ]


def settling(told: RunComparison) -> Iterator[str]:
    """Yield what would settle it, where it is not settled."""
    if told.verdict.verdict in DECIDED:
        return
    yield ""
    if told.differences and all(_can_be_set(each) for each in told.differences):
        change = " ".join(f"--set {each.name}={each.b}" for each in told.differences)
        yield f"to settle it: perftui relaunch {told.a.run_id} {change}"
    else:
        yield "to settle it: run both again in turns, A B B A, on a quiet host, and compare"


def _can_be_set(difference: Difference) -> bool:
    return difference.semantics is not None and difference.b not in (None, "none")
