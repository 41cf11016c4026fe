"""What dashboards are told of the ranks: their views, and at which update each part of them last changed.

Of many ranks all is told of those that a dashboard looks at more closely; of the others what a table shows,
and the rest when it changes.
"""

import time

import msgspec

from perftui.ipc.dashboard_messages import MANY_RANKS
from perftui.ipc.facts import RankFacts
from perftui.ipc.view import LoaderWorkers, RanksTogether, RankView
from perftui.trainer.hub.nearness import Near
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.ranks_together import ranks_together
from perftui.trainer.hub.served import ServedRun
from perftui.trainer.hub.views import brief_view, phases_of, rank_view, workers_of

_TOGETHER_S = 1.0
"""Of many ranks the medians are taken so often."""


class RankViews:
    """The views of one run's ranks as of the newest update; of many ranks the brief ones."""

    def __init__(self, run: ServedRun) -> None:
        self._run = run
        self._run_facts = run.facts()
        """As of the newest update: finding them out asks the file system."""
        self._views: dict[int, RankView] = {}
        self._facts: dict[int, tuple[int, RankFacts]] = {}
        """By rank, with the update number at which they last changed."""
        self._settings: dict[int, tuple[int, object]] = {}
        self._together_at = -_TOGETHER_S
        self.together: RanksTogether | None = None
        """All of them at one glance."""

    def clear(self) -> None:
        """Forget them."""
        self._views.clear()
        self._facts.clear()
        self._settings.clear()
        self._together_at = -_TOGETHER_S

    @property
    def many(self) -> bool:
        """Whether there are so many ranks that most of them come in brief."""
        return len(self._views) > MANY_RANKS

    def refresh(self, number: int) -> None:
        """Look at every rank anew, for the update of that number."""
        run, facts, now = self._run, self._run.facts(), self._run.now()
        self._run_facts = facts
        many = len(run.fold.ranks) > MANY_RANKS
        for track in run.fold.ordered:
            rank = track.hello.rank
            slow = self._note_slow(track, number)
            if many:
                workers = workers_of(run.fold, rank, now)
                fresh = brief_view(facts, track, now, run.marks(rank), number, workers)
            else:
                fresh = self._full(track, number)
            old = self._views.get(rank)
            if slow or old is None or not _alike(old, fresh):
                self._views[rank] = fresh
        clock = time.monotonic()
        if not many or clock - self._together_at >= _TOGETHER_S:
            self.together, self._together_at = ranks_together(self.all()), clock

    def _note_slow(self, track: RankTrack, number: int) -> bool:
        """Note at which update facts and settings changed; True when they did now."""
        rank, settings = track.hello.rank, (track.settings, track.settings_failed)
        facts_known, settings_known = self._facts.get(rank), self._settings.get(rank)
        facts_same = facts_known is not None and _same_facts(facts_known[1], track.facts)
        settings_same = settings_known is not None and settings_known[1] == settings
        if not facts_same:
            self._facts[rank] = (number, track.facts)
        if not settings_same:
            self._settings[rank] = (number, settings)
        return not (facts_same and settings_same)

    def _full(self, track: RankTrack, number: int) -> RankView:
        run, rank, now = self._run, track.hello.rank, self._run.now()
        phases = phases_of(self._run_facts, track, now)
        return rank_view(track, now, run.marks(rank), number, workers_of(run.fold, rank, now), phases)

    def all(self) -> list[RankView]:
        """Return every view."""
        return list(self._views.values())

    def told(self, since: int | None, near: Near | None) -> list[RankView]:
        """Return what a dashboard is to be told that has update `since` (None: nothing so far).

        Args:
            since: number of an update.
            near: what it looks at more closely; None: at all of them, for they are few.
        """
        found: list[RankView] = []
        for rank, view in self._views.items():
            close = near is None or rank in near.ranks
            anew = since is None or (close and near is not None and near.anew)
            if rank not in self._run.fold.ranks:
                continue  # it has left since they were looked at
            if not anew and view.changed <= (since or 0):
                continue
            if not close:
                settings = since is None or self._settings[rank][0] > since
                found.append(self._with_settings(view) if settings else view)
                continue
            whole = self._full(self._run.fold.ranks[rank], view.changed) if view.brief else view
            known = not anew and self._facts[rank][0] <= (since or 0)
            found.append(msgspec.structs.replace(whole, facts=None) if known else whole)
        return found

    def _with_settings(self, view: RankView) -> RankView:
        track = self._run.fold.ranks[view.rank]
        return msgspec.structs.replace(view, settings=track.settings, settings_failed=track.settings_failed)


def _same_facts(old: RankFacts | None, fresh: RankFacts | None) -> bool:
    return old is fresh or old == fresh


def _alike(old: RankView, fresh: RankView) -> bool:
    """Return whether nothing worth sending differs; a silent rank's age counts, a lively one's not."""
    if old.state != fresh.state or old.steps != fresh.steps or old.marks != fresh.marks:
        return False
    if fresh.state == "silent" and int(old.age_s) != int(fresh.age_s):
        return False
    if _looked_at(old) != _looked_at(fresh) or _phase(old) != _phase(fresh):
        return False
    return (old.loss, old.dropped, old.probe_errors) == (
        fresh.loss,
        fresh.dropped,
        fresh.probe_errors,
    )


def _phase(view: RankView) -> tuple[str | None, int]:
    """Return its phase and the seconds that it goes on; of the training itself these are no news."""
    return view.phase, 0 if view.phase == "training" else int(view.phase_for_s or 0)


def _looked_at(view: RankView) -> LoaderWorkers | None:
    """Return its workers whatever the look's age."""
    return None if view.workers is None else msgspec.structs.replace(view.workers, age_s=0.0)
