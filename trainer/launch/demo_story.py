"""The words of a headless demonstration: a line for each thing that happened, the seconds before it."""

import time
from collections.abc import Callable, Sequence

from perftui.ipc.findings import Evidence, Finding
from perftui.ipc.harmless import one_line
from perftui.ipc.ledger_records import Verdict
from perftui.ipc.settings import format_value
from perftui.ipc.view import RankView


class Story:
    """Writes the lines.

    Args:
        write: takes text, newline included.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Write one line."""
        self._write(f"[{time.monotonic() - self._began:5.1f} s] {one_line(text.rstrip())}\n")

    def baseline(self, ranks: Sequence[RankView]) -> None:
        """Tell how fast the training is as it stands."""
        for rank in ranks:
            self.say(f"baseline  {rank_line(rank)}")

    def cause(self, finding: Finding | None) -> None:
        """Tell what the diagnosis puts first, with its evidence."""
        if finding is None:
            self.say("cause     none was named in the time of a demonstration")
            return
        self.say(f"cause     {finding.code} ({finding.severity}): {finding.sentence}")
        self.say(f"evidence  {'; '.join(_evidence(entry) for entry in finding.evidence) or '—'}")

    def change(self, finding: Finding) -> None:
        """Tell what will be altered, and what it can bring at most."""
        remedy = finding.remedy
        if remedy is None or not remedy.set:
            advice = remedy.advice if remedy is not None else None
            self.say(f"change    no setting to try{f'; {advice}' if advice else ''}")
            return
        settings = ", ".join(f"{name}={format_value(value)}" for name, value in remedy.set.items())
        hopes = [
            f"{word} {factor:.2f}x"
            for word, factor in (("expected", remedy.expected), ("at most", remedy.bound))
            if factor is not None
        ]
        self.say(f"change    {settings} ({remedy.semantics}{''.join(f', {hope}' for hope in hopes)})")

    def verdict(self, verdict: Verdict | None, message: str | None) -> None:
        """Tell what came of it."""
        if verdict is None:
            self.say(f"verdict   none: {message or 'the trials were broken off'}")
            return
        self.say(f"verdict   {verdict.verdict.replace('_', ' ')}{interval(verdict)}")
        self.say(f"          {verdict.sentence}")


def rank_line(rank: RankView) -> str:
    """Return a rank's speed in one line."""
    step = f"{rank.step_ms.mean:.0f} ms a step" if rank.step_ms else "no step measured yet"
    wait = rank.shares.loader_wait
    waits = f", {100 * wait:.0f} % of it waiting for the loader" if wait is not None else ""
    samples = f", {rank.samples_per_s:.0f} samples/s" if rank.samples_per_s is not None else ""
    return f"rank {rank.rank}, step {rank.steps}: {step}{waits}{samples}"


def interval(verdict: Verdict) -> str:
    """Return gain and interval as text; empty when nothing was measured."""
    if verdict.gain is None or verdict.lo is None or verdict.hi is None:
        return ""
    return (
        f": {100 * verdict.gain:+.1f} % steps per second "
        f"({100 * verdict.confidence:.0f} % interval {100 * verdict.lo:+.1f} % to {100 * verdict.hi:+.1f} %)"
    )


def _evidence(entry: Evidence) -> str:
    value = (
        f"{100 * entry.value:.0f} %" if entry.unit == "share" else f"{entry.value:.4g} {entry.unit}".rstrip()
    )
    return f"{entry.name} {value}"
