"""What perftui costs the training, from what the ranks measure of it. Pure."""

from collections.abc import Sequence
from math import hypot

from perftui.ipc.summary import Overhead
from perftui.trainer.hub.fold import RunFold


def overhead_of(fold: RunFold) -> Overhead:
    """Return the mean over all ranks: of the hooks per measured step, of the background thread per step."""
    tracks = fold.ordered
    steps = sum(len(track.log) for track in tracks)
    measured = sum(track.hook_steps for track in tracks)
    step_us = mean_step_us(fold)
    hook_ns = sum(track.hook_ns for track in tracks) / measured if measured else None
    probe_ns = sum(track.probe_ns for track in tracks)
    shadows = [track.shadow for track in tracks if track.shadow is not None]
    wall_us, wall_se_us = mean_with_error([(one.shadow_us, one.shadow_se_us) for one in shadows])
    cpu_us, cpu_se_us = mean_with_error([(one.shadow_cpu_us, one.shadow_cpu_se_us) for one in shadows])
    return Overhead(
        us_per_step=None if hook_ns is None else hook_ns / 1e3,
        share=None if hook_ns is None or step_us is None else hook_ns / 1e3 / step_us,
        background_us_per_step=probe_ns / steps / 1e3 if steps and probe_ns else None,
        shadow_steps=sum(one.shadow_steps for one in shadows),
        shadow_us=wall_us,
        shadow_se_us=wall_se_us,
        shadow_cpu_us=cpu_us,
        shadow_cpu_se_us=cpu_se_us,
    )


def mean_step_us(fold: RunFold) -> float | None:
    """Return the mean wall time of a usual step over all ranks; None in the warm-up."""
    walls = [wall for track in fold.ordered if (wall := track.log.mean_wall_ns) is not None]
    return sum(walls) / len(walls) / 1e3 if walls else None


def mean_with_error(
    figures: Sequence[tuple[float | None, float | None]],
) -> tuple[float | None, float | None]:
    """Return the mean of independent figures and its standard error; None where there are none.

    Args:
        figures: each with its standard error.
    """
    known = [(value, error) for value, error in figures if value is not None and error is not None]
    if not known:
        return None, None
    return sum(value for value, _ in known) / len(known), hypot(*(error for _, error in known)) / len(known)
