"""What the trials of a change will cost in time, from a live run's own picture.

Apart from the predictor, whose arithmetic it uses, because it knows what a run's view looks like. The hub and
the command line say the same figure from here.
"""

from collections.abc import Sequence

from perftui.ipc.findings import Finding
from perftui.ipc.settings import Settings
from perftui.ipc.view import Header, RankView
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.predictor import TrialsEstimate, estimate_trials, startup_of

_COMPILES = "compile.mode"
_USUAL_STARTUP_S = 10.0
_STARTUP_SEEN_WITHIN_STEPS = 1000
"""Of a longer run, small errors of the step time would add up to more than the start itself."""


def price_of_trials(
    header: Header,
    ranks: Sequence[RankView],
    change: Settings,
    expected: float | None,
    caps: Caps | None = None,
    most_launches: int = 4,
) -> TrialsEstimate | None:
    """Estimate the wall time of the trials of `change`; None while no step has been measured."""
    slowest = max((rank.step_ms.mean for rank in ranks if rank.step_ms), default=None)
    if slowest is None:
        return None
    caps = caps or Caps()
    steps = max(rank.steps for rank in ranks)
    few = steps < _STARTUP_SEEN_WITHIN_STEPS
    startup_s = startup_of(header.elapsed_s, steps, slowest) if few else _USUAL_STARTUP_S
    workers = change.get("loader.num_workers")
    return estimate_trials(
        startup_s,
        slowest,
        expected,
        workers if isinstance(workers, int) else 0,
        steps_cap=caps.steps,
        seconds_cap=caps.seconds,
        launches=most_launches,
        compiles=_COMPILES in change,
    )


def price_of_leading(
    header: Header, ranks: Sequence[RankView], findings: Sequence[Finding]
) -> tuple[float, float] | None:
    """Return about how many seconds the trials of the first remedy by settings take, and at most."""
    for finding in findings:
        remedy = finding.remedy
        if remedy is not None and remedy.set:
            price = price_of_trials(header, ranks, remedy.set, remedy.expected)
            return (price.shortest_s, price.longest_s) if price else None
    return None
