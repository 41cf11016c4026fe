"""What dashboards are told of the ranks: their views, and at which update each part of them last changed.

Of many ranks all is told of those that a dashboard looks at more closely; of the others what a table shows,
and the rest when it changes.
"""

import msgspec

from perftui.ipc.dashboard_messages import MANY_RANKS
from perftui.ipc.facts import RankFacts
from perftui.ipc.view import LoaderWorkers, RanksTogether, RankView
from perftui.trainer.hub.nearness import Near
from perftui.trainer.hub.ranks_together import ranks_together
from perftui.trainer.hub.served import ServedRun
from perftui.trainer.hub.views import phases_of, rank_view, workers_of


class RankViews:
    """The views of one run's ranks as of the newest update."""

    def __init__(self) -> None:
        self._views: dict[int, RankView] = {}
        self._facts_changed: dict[int, int] = {}
        self._settings_changed: dict[int, int] = {}
        self.together: RanksTogether | None = None
        """All of them at one glance."""

    def clear(self) -> None:
        """Forget them."""
        self._views.clear()

    @property
    def many(self) -> bool:
        """Whether there are so many ranks that most of them come in brief."""
        return len(self._views) > MANY_RANKS

    def refresh(self, run: ServedRun, number: int) -> None:
        """Look at every rank anew, for the update of that number."""
        facts, now = run.facts(), run.now()
        for track in run.fold.ordered:
            rank = track.hello.rank
            workers = workers_of(run.fold, rank, now)
            phases = phases_of(run.fold, facts, track, now)
            fresh = rank_view(track, now, run.marks(rank), number, workers, phases)
            old = self._views.get(rank)
            if old is None or not _same_facts(old.facts, fresh.facts):
                self._facts_changed[rank] = number
            if old is None or _settings(old) != _settings(fresh):
                self._settings_changed[rank] = number
            if old is None or not _alike(old, fresh):
                self._views[rank] = fresh

        self.together = ranks_together(self.all())

    def all(self) -> list[RankView]:
        """Return every view in full."""
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
            if close and (since is None or (near is not None and near.anew)):
                found.append(view)
            elif since is None:
                found.append(_brief(view, settings=True))
            elif view.changed > since and close:
                known = self._facts_changed[rank] <= since
                found.append(msgspec.structs.replace(view, facts=None) if known else view)
            elif view.changed > since:
                found.append(_brief(view, settings=self._settings_changed[rank] > since))
        return found


def _brief(view: RankView, *, settings: bool) -> RankView:
    return msgspec.structs.replace(
        view,
        losses=[],
        settings=view.settings if settings else {},
        settings_failed=view.settings_failed if settings else {},
        device_ms=None,
        facts=None,
        phases_s=None,
        brief=True,
    )


def _settings(view: RankView) -> tuple[object, object]:
    return view.settings, view.settings_failed


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
    if _settings(old) != _settings(fresh) or not _same_facts(old.facts, fresh.facts):
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
