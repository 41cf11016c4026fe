"""What the steps of a launch amount to, made up."""

from perftui.trainer.tuning.enough import Assessment
from perftui.trainer.tuning.steady import LaunchEstimate


def assessment(se: float | None, steady: int = 100, warm: int = 10, *, settled: bool = True) -> Assessment:
    """Known to `se`, in log units; None: too few steps."""
    estimate = None if se is None else LaunchEstimate(0.0, se, 5.0, steady // 10)
    return Assessment(enough=False, settled=settled, warm_steps=warm, steady_steps=steady, estimate=estimate)
