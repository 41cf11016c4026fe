"""When each finding was first shown: kept with the fold, so that a later hub and a replay know it too."""

from collections.abc import Iterable

from msgspec.structs import replace

from perftui.ipc.findings import Appearance, Finding


class Appearances:
    """The first time of each finding of a run."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, int | None, str | None], Appearance] = {}

    def take(self, seen: Iterable[Appearance]) -> None:
        """Take in what was recorded."""
        for each in seen:
            self._first[each.code, each.rank, each.host] = each

    def note(self, findings: Iterable[Finding], step: int, unix: float) -> list[Appearance]:
        """Return, and keep, those findings that are shown for the first time."""
        new = [
            Appearance(code=each.code, rank=each.rank, host=each.host, step=step, unix=unix)
            for each in findings
            if (each.code, each.rank, each.host) not in self._first
        ]
        self.take(new)
        return new

    def told(self, findings: Iterable[Finding], began_unix: float) -> list[Finding]:
        """Return the findings with their first times; without where they were never shown."""
        return [self._told(each, began_unix) for each in findings]

    def _told(self, finding: Finding, began_unix: float) -> Finding:
        first = self._first.get((finding.code, finding.rank, finding.host))
        if first is None:
            return finding
        return replace(finding, first_step=first.step, first_s=round(max(0.0, first.unix - began_unix), 1))
