"""What the rank's time went to, phase by phase, since its process began; kept by the agent's thread.

Steps say until when all is known: validations are handed out before the step closes in which they lie. Up to
there spans are summed for good; what came later is told anew each time, with what is likely.
"""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perftui.ipc.facts import PhaseFacts, RunPhase
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.identity import start_ticks
from perftui.trainer.probe.phase_now import Now
from perftui.trainer.probe.phase_spans import Span, parted

_S = 1e9
_TOLD_EVERY_NS = 10_000_000_000
_KINDS: tuple[RunPhase, ...] = ("compiling", "checkpoint", "validation", "between")
"""What two of them claim belongs to the first: a model that compiles in a validation compiles."""
_SPANS_KEPT = 1024


@dataclass(frozen=True)
class Present:
    """What goes on now, as far as stamps and callbacks tell."""

    now: Now
    newest_ns: int
    evaluations: tuple[Span, ...] = ()
    """Since the last work: not yet certain, and likely."""
    compiling_ns: int = -1
    """When the compilation began that goes on; -1: none does."""


def process_began_ns() -> int:
    """Return when this process began, on the clock of `perf_counter`, to a clock tick (10 ms)."""
    since_boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    began_ns = start_ticks() * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return time.perf_counter_ns() - (since_boot_ns - began_ns)


class PhaseLedger:
    """Sums spans by phase. Times in ns.

    Args:
        began_ns: when the process began.

    Attributes:
        sums_ns: by phase, as of the newest reading.
    """

    def __init__(self, began_ns: int) -> None:
        self._began_ns = self._settled_ns = began_ns
        self.sums_ns: dict[str, int] = {}
        self._sums: dict[str, int] = {}
        """The same, until the newest step's end."""
        self._spans: dict[str, list[Span]] = {kind: [] for kind in _KINDS}
        self._first_ns = -1
        """When training began; -1: it has not."""
        self._newest_step_ns = began_ns
        self._told: PhaseFacts | None = None
        self._since = Now("starting", began_ns)

    def stepped(self, steps: Sequence[StepRecord]) -> None:
        """Steps have ended, oldest first."""
        if steps:
            self._begin(steps[0].end_ns - steps[0].wall_ns)
            self._newest_step_ns = max(self._newest_step_ns, steps[-1].end_ns)

    def add(self, phase: RunPhase, spans: Iterable[Span]) -> None:
        """Add spans that are certain; one that begins before what is summed takes its time from training."""
        kept = self._spans[phase]
        for begin_ns, end_ns in spans:
            if phase == "between":
                self._begin(begin_ns)
            late_ns = min(min(end_ns, self._settled_ns) - begin_ns, self._sums.get("training", 0))
            if late_ns > 0:
                self._sums["training"] -= late_ns
                self._sums[phase] = self._sums.get(phase, 0) + late_ns
            if end_ns > self._settled_ns:
                kept.append((max(begin_ns, self._settled_ns), end_ns))
        del kept[:-_SPANS_KEPT]

    def read(self, now_ns: int, present: Present, *, at_end: bool = False) -> PhaseFacts:
        """Return the sums until now; the same object as before while nothing changed but the phase's length.

        Args:
            now_ns: `perf_counter`.
            present: what goes on.
            at_end: the process ends: what is after the last step is no training.
        """
        self._settle(min(self._newest_step_ns, now_ns))
        now = self._now(now_ns, present, at_end=at_end)
        spans: dict[str, list[Span]] = {kind: [*self._spans[kind]] for kind in _KINDS}
        if not at_end:  # else all are certain
            spans["validation"] += present.evaluations
        if now.phase in spans:
            spans[now.phase].append((now.since_ns, now_ns))
        ns = self._parted(self._settled_ns, now_ns, spans, "ending" if at_end else "training")
        self.sums_ns = {kind: self._sums.get(kind, 0) + ns.get(kind, 0) for kind in {**self._sums, **ns}}
        return self._new(now, now_ns, present.newest_ns, at_end=at_end)

    def _begin(self, at_ns: int) -> None:
        if self._first_ns < 0:
            self._first_ns = at_ns

    def _settle(self, until_ns: int) -> None:
        if until_ns <= self._settled_ns:
            return
        for kind, ns in self._parted(self._settled_ns, until_ns, self._spans, "training").items():
            self._sums[kind] = self._sums.get(kind, 0) + ns
        self._settled_ns = until_ns
        for kind, spans in self._spans.items():
            self._spans[kind] = [span for span in spans if span[1] > until_ns]

    def _parted(
        self, begin_ns: int, end_ns: int, spans: dict[str, list[Span]], rest: RunPhase
    ) -> dict[str, int]:
        first_ns = end_ns if self._first_ns < 0 else self._first_ns
        before = [(self._began_ns, first_ns)]
        return parted(begin_ns, end_ns, {**spans, "starting": before}, rest)

    def _now(self, now_ns: int, present: Present, *, at_end: bool) -> Now:
        if at_end:
            now = Now("ending", self._newest_step_ns)
        elif present.compiling_ns >= 0:
            now = Now("compiling", present.compiling_ns)
        elif self._first_ns < 0 and present.now.phase == "training":
            now = Now("starting", self._began_ns)
        else:
            now = present.now
        if now.phase != self._since.phase:
            self._since = now if now.phase != "training" else Now("training", min(now_ns, now.since_ns))
        elif now.phase != "training" and now.since_ns > self._since.since_ns:
            self._since = now  # another one of the kind
        return self._since

    def _new(self, now: Now, now_ns: int, newest_ns: int, *, at_end: bool) -> PhaseFacts:
        told, seconds = self._told, {kind: ns / _S for kind, ns in self.sums_ns.items()}
        if told is None or at_end or now_ns - told.at_ns >= _TOLD_EVERY_NS or _changed(told, now, seconds):
            told = self._told = PhaseFacts(
                phase=now.phase,
                since_ns=now.since_ns,
                at_ns=now_ns,
                began_ns=self._began_ns,
                newest_ns=newest_ns,
                seconds={kind: round(value, 6) for kind, value in seconds.items() if value},
            )
        return told


def _changed(told: PhaseFacts, now: Now, seconds: dict[str, float]) -> bool:
    """Tell whether another phase goes on, or one that does not go on has become longer."""
    if (now.phase, now.since_ns) != (told.phase, told.since_ns):
        return True
    return any(
        abs(value - told.seconds.get(kind, 0.0)) > 1e-3
        for kind, value in seconds.items()
        if kind != now.phase
    )
