"""Hysteresis: what is on the screen does not flicker with every window.

A finding must hold for a few judgements to appear and be gone for a few to go; the order and a severity
change in the same unhurried way. Time comes from outside, so a replay sees the same.
"""

from dataclasses import dataclass, replace

import msgspec.structs

from perftui.ipc.findings import Finding, Severity
from perftui.trainer.diagnosis.policy import POLICY, Policy
from perftui.trainer.diagnosis.registry import HEALTHY

_Key = tuple[str, int | None, str | None]


def _key(finding: Finding) -> _Key:
    return finding.code, finding.rank, finding.host


@dataclass(frozen=True)
class _Track:
    """One finding over the judgements."""

    finding: Finding
    severity: Severity
    held: int = 0
    missed: int = 0
    other_severity: int = 0
    """Judgements in a row with another severity than the one shown."""
    shown: bool = False


class Steadied:
    """The findings as they are shown; one for each run."""

    def __init__(self, policy: Policy = POLICY) -> None:
        self._policy = policy
        self._tracks: dict[_Key, _Track] = {}
        self._order: list[_Key] = []
        self._other_order = 0
        self._judged_at: float | None = None

    def update(self, findings: list[Finding], now_s: float) -> list[Finding]:
        """Take one judgement and return what is to be shown, in order.

        A call with the time of the last one, or an earlier time, changes nothing.
        """
        last = self._judged_at
        if last is not None and now_s <= last:
            return self._shown()
        if last is not None and now_s - last > self._policy.forget_after_s:
            self._tracks, self._order = {}, []
        self._judged_at = now_s
        self._follow({_key(finding): finding for finding in findings})
        self._settle_contradictions()
        self._settle_order([_key(finding) for finding in findings])
        return self._shown()

    def _follow(self, present: dict[_Key, Finding]) -> None:
        tracks: dict[_Key, _Track] = {}
        for key in dict.fromkeys([*self._tracks, *present]):
            track = self._tracks.get(key)
            finding = present.get(key)
            if finding is not None:
                tracks[key] = self._held(track, finding)
            elif track is not None and track.shown and track.missed + 1 < self._policy.vanish_judgements:
                tracks[key] = replace(track, missed=track.missed + 1)
        self._tracks = tracks

    def _held(self, track: _Track | None, finding: Finding) -> _Track:
        if track is None:
            track = _Track(finding, finding.severity)
        held = track.held + 1
        shown = track.shown or held >= self._policy.appear_judgements
        other = 0 if finding.severity == track.severity else track.other_severity + 1
        severity = track.severity
        if other >= self._policy.appear_judgements or not track.shown:
            severity, other = finding.severity, 0
        return _Track(finding, severity, held, 0, other, shown)

    def _settle_contradictions(self) -> None:
        """Let no two of what is shown speak against each other."""
        shown = [key for key, track in self._tracks.items() if track.shown]
        current = {key[0] for key in shown if not self._tracks[key].missed}
        for key in shown:
            # One that only lingers makes room for the same finding on another rank.
            if self._tracks[key].missed and key[0] in current:
                del self._tracks[key]
        costly = any(
            not key[0].startswith("self.") and (track.severity != "info" or key[0].startswith("rank."))
            for key, track in self._tracks.items()
            if track.shown
        )
        if costly:
            for key in [key for key in self._tracks if key[0] in HEALTHY]:
                track = self._tracks.pop(key)
                if not track.missed:
                    self._tracks[key] = replace(track, shown=False)

    def _settle_order(self, judged: list[_Key]) -> None:
        shown = [key for key, track in self._tracks.items() if track.shown]
        wanted = [key for key in judged if key in shown]
        for place, key in enumerate(self._order):
            if key in shown and key not in wanted:
                wanted.insert(min(place, len(wanted)), key)
        if set(wanted) == set(self._order) and wanted != self._order:
            self._other_order += 1
            if self._other_order < self._policy.appear_judgements:
                return
        self._order, self._other_order = wanted, 0

    def _shown(self) -> list[Finding]:
        codes = {key[0] for key in self._order}
        return [_as_shown(self._tracks[key], codes) for key in self._order]


def _as_shown(track: _Track, codes: set[str]) -> Finding:
    """Return a finding as it stands among those shown: its cause may not be shown yet, or no more."""
    finding = track.finding
    under = finding.under if finding.under in codes else None
    return msgspec.structs.replace(finding, severity=track.severity, under=under)
