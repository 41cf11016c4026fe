"""What perftui costs the training, from what the ranks measure of it. Pure."""

from perftui.ipc.summary import Overhead
from perftui.trainer.hub.fold import RunFold


def overhead_of(fold: RunFold) -> Overhead:
    """Return the mean over all ranks: of the hooks per measured step, of the background thread per step."""
    tracks = fold.ordered
    steps = sum(len(track.log) for track in tracks)
    measured = sum(track.hook_steps for track in tracks)
    walls = [wall for track in tracks if (wall := track.log.mean_wall_ns) is not None]
    hook_ns = sum(track.hook_ns for track in tracks) / measured if measured else None
    probe_ns = sum(track.probe_ns for track in tracks)
    return Overhead(
        us_per_step=None if hook_ns is None else hook_ns / 1e3,
        share=None if hook_ns is None or not walls else hook_ns / (sum(walls) / len(walls)),
        background_us_per_step=probe_ns / steps / 1e3 if steps and probe_ns else None,
    )
