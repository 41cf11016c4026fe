"""From the folded state to signals, and from signals to findings, once a second."""

from perftui.ipc.findings import Finding
from perftui.ipc.view import LoaderWorkers
from perftui.trainer.diagnosis import Steadied, diagnose
from perftui.trainer.diagnosis.signals import FactsChange, HostSignals, RankSignals, RunSignals
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.step_log import WindowFigures
from perftui.trainer.hub.views import WINDOW_STEPS

CHANGE_S = 60.0
"""Growth of totals is taken over about so long."""


def signals_of(fold: RunFold, *, whole_run: bool = False) -> RunSignals:
    """Return the newest window of every rank, or the whole run's figures, as the rules see them."""
    ranks: list[RankSignals] = []
    for track in fold.ordered:
        figures = track.log.whole() if whole_run else track.log.window(WINDOW_STEPS)
        if figures is not None:
            log = fold.worker_logs.get(track.hello.rank)
            workers = (log.whole() if whole_run else log.recent()) if log else None
            change = track.facts_log.change(track.last_unix, len(track.log), None if whole_run else CHANGE_S)
            ranks.append(_rank_signals(track, figures, workers, change))
    return RunSignals(
        ranks=tuple(ranks),
        hosts=tuple(_hosts(fold, whole_run=whole_run)),
        world_size=fold.world_size() if fold.ranks else 1,
    )


def _rank_signals(
    track: RankTrack,
    figures: WindowFigures,
    workers: LoaderWorkers | None,
    change: FactsChange | None,
) -> RankSignals:
    return RankSignals(
        rank=track.hello.rank,
        host=track.hello.host,
        device=track.device,
        window_steps=figures.steps,
        coverage=figures.coverage,
        step_ms=figures.step_ms,
        shares=figures.shares,
        cpu_share=figures.cpu_share,
        loader=track.loader,
        settings=track.settings,
        epoch_start_wait=figures.epoch_start_wait,
        workers=workers,
        facts=track.facts,
        change=change,
    )


def _hosts(fold: RunFold, *, whole_run: bool) -> list[HostSignals]:
    found = [log.whole() if whole_run else log.recent() for log in fold.host_logs.values()]
    return [signals for signals in found if signals is not None]


class Judge:
    """Keeps the findings steady over time."""

    def __init__(self) -> None:
        self._steadied = Steadied()
        self.findings: list[Finding] = []

    def look(self, fold: RunFold, now_s: float) -> bool:
        """Judge anew; True when the findings changed."""
        found = self._steadied.update(diagnose(signals_of(fold)), now_s)
        changed = found != self.findings
        self.findings = found
        return changed

    def marks(self, rank: int) -> list[str]:
        """Return the codes of the findings that point at this rank."""
        return [f.code for f in self.findings if f.rank == rank and f.severity != "info"]
