"""The findings of a run as they stand: judged once a second, and steadied so that they do not flicker."""

from collections.abc import Iterable

from perftui.ipc.findings import Appearance, Finding, Unjudged
from perftui.trainer.diagnosis import Abstention, Steadied, judge
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.newest_window import WindowSeen
from perftui.trainer.hub.run_signals import signals_of

_UNJUDGED_MAX = 100
"""More say the same of further ranks."""


class Judge:
    """Keeps the findings steady over time."""

    def __init__(self) -> None:
        self._steadied = Steadied()
        self.findings: list[Finding] = []
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
        judged = judge(signals_of(fold, window=window))
        self.unjudged = unjudged_of(judged.abstained[:_UNJUDGED_MAX])
        found = self._steadied.update(list(judged.findings), now_s)
        self.appeared = fold.appearances.note(found, fold.steps_done(), now_s)
        found = fold.appearances.told(found, began_s)
        changed = found != self.findings
        self.findings = found
        return changed

    def marks(self, rank: int) -> list[str]:
        """Return the codes of the findings that point at this rank."""
        return [f.code for f in self.findings if f.rank == rank and f.severity != "info"]


def unjudged_of(abstained: Iterable[Abstention]) -> list[Unjudged]:
    """Return abstentions as they cross a process border."""
    return [
        Unjudged(code=each.code, reason=each.reason, settled_by=each.settled_by, rank=each.rank)
        for each in abstained
    ]
