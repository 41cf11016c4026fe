"""Two ranks that exchange gradients, for the tests of what is told of several ranks."""

from dataclasses import replace

from perftui.ipc.view import Shares
from perftui.trainer.diagnosis.signals import Arrival, Arrivals, RankSignals, StepPatterns

from .made import ddp, rank

LOOKED = StepPatterns(run_steps=200, comm_steps=8, samples=32.0)


def member(
    number: int, comm: float | None, *, patterns: StepPatterns = LOOKED, **parts: float
) -> RankSignals:
    """One of two ranks on a CPU; what is not said is backward."""
    given = {"loader_wait": 0.02, "forward": 0.2, "optimizer": 0.05, "other": 0.01, **parts}
    rest = 1 - sum(given.values()) - (comm or 0.0)
    return replace(
        rank(number),
        shares=Shares(backward=rest, comm_exposed=comm, **given),
        patterns=patterns,
        facts=ddp(),
        world_size=2,
    )


def arrivals_made(
    *late: tuple[float, float], lost_ms: float = 0.0, steps: int = 100, **more: float | None
) -> Arrivals:
    ranks = tuple(Arrival(rank=n, late_ms=ms, last_share=share) for n, (ms, share) in enumerate(late))
    return Arrivals(steps=steps, ranks=ranks, lost_ms=lost_ms, **more)  # type: ignore[arg-type]


def looked_at(last: float = 1.0, error_ms: float | None = 0.5, **more: float | None) -> Arrivals:
    """Rank 1 waited least in that share of 40 steps; the error is that of each rank's mean wait."""
    ranks = tuple(
        Arrival(rank=n, late_ms=0.0, last_share=0.5, looks=40, wait_error_ms=error_ms, least_share=share)
        for n, share in enumerate((1 - last, last))
    )
    return Arrivals(steps=100, ranks=ranks, lost_ms=0.0, looked=40, **more)
