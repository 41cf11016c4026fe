"""The findings of a run as they stand: judged once a second, and steadied so that they do not flicker."""

from collections.abc import Iterable

from perftui.ipc.findings import Appearance, Finding, Unjudged
from perftui.trainer.diagnosis import Abstention, Steadied, judge_in_parts
from perftui.trainer.diagnosis.in_parts import Parts, at_once
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.newest_window import WindowSeen
from perftui.trainer.hub.run_signals import signals_in_parts

_UNJUDGED_MAX = 100
"""More say the same of further ranks."""


class Judge:
    """Keeps the findings steady over time."""

    def __init__(self) -> None:
        self._steadied = Steadied()
        self.findings: list[Finding] = []
        self._marks: dict[int, list[str]] = {}
        self.appeared: list[Appearance] = []
        """Findings that the last look showed for the first time."""
        self.unjudged: list[Unjudged] = []
        """What could not be judged the last time."""

    def look(
        self, fold: RunFold, now_s: float, window: WindowSeen | None = None, *, began_s: float = 0.0
    ) -> bool:
        """Judge anew; True when the findings changed.

        Args:
            fold: of the run.
            now_s: unix time.
            window: the newest profiling window that could be read.
            began_s: unix time of the run's start.
        """
        return at_once(self.looking(fold, now_s, window, began_s=began_s))

    def looking(
        self,
        fold: RunFold,
        now_s: float,
        window: WindowSeen | None = None,
        *,
        began_s: float = 0.0,
        unseen: str | None = None,
    ) -> Parts[bool]:
        """Do the same in parts, as it takes long with many ranks; what it finds is there at its end.

        Args:
            fold: as for `look`, as are the next three.
            now_s: see there.
            window: see there.
            began_s: see there.
            unseen: why loader workers of the hub's host cannot be looked into; None: nothing is known.
        """
        signals = yield from signals_in_parts(fold, window=window, unseen=unseen)
        judged = yield from judge_in_parts(signals)
        self.unjudged = unjudged_of(judged.abstained[:_UNJUDGED_MAX])
        found = self._steadied.update(list(judged.findings), now_s)
        self.appeared = fold.appearances.note(found, fold.steps_done(), now_s)
        found = fold.appearances.told(found, began_s)
        changed = found != self.findings
        self.findings, self._marks = found, _marks_of(found)
        return changed

    def marks(self, rank: int) -> list[str]:
        """Return the codes of the findings that point at this rank."""
        return self._marks.get(rank, [])


def _marks_of(findings: Iterable[Finding]) -> dict[int, list[str]]:
    marks: dict[int, list[str]] = {}
    for finding in findings:
        if finding.rank is not None and finding.severity != "info":
            marks.setdefault(finding.rank, []).append(finding.code)
    return marks


def unjudged_of(abstained: Iterable[Abstention]) -> list[Unjudged]:
    """Return abstentions as they cross a process border."""
    return [
        Unjudged(code=each.code, reason=each.reason, settled_by=each.settled_by, rank=each.rank)
        for each in abstained
    ]
