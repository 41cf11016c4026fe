"""What to order of which rank so that all record the same steps, and no more than they may. Pure."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from perftui.ipc.dashboard_messages import ProfileCommand
from perftui.ipc.errors import Refused
from perftui.ipc.messages import ArmWindow, Preset
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.profiling.event_budget import STEPS_MAX

_COMMAND_DELAY_S = 0.5
"""From the hub to a rank and back: batches leave a rank ten times a second."""
_DEFAULT_STEP_S = 0.1
_JUDGED_STEPS = 50
_KEPT_SHARE = 0.9


def check(command: ProfileCommand, live: Sequence[RankTrack]) -> None:
    """Say what is wrong with a request.

    Raises:
        Refused: nothing trains, or the request makes no sense.
    """
    if not live:
        raise Refused("no rank is training yet: a window needs steps")
    if not 1 <= command.steps <= STEPS_MAX:
        raise Refused(f"{command.steps} steps: a window takes 1 to {STEPS_MAX}")
    known = {track.hello.rank for track in live}
    if command.ranks is not None and not set(command.ranks) <= known:
        raise Refused(f"ranks {command.ranks}: this run has {sorted(known)}")


def step_s(live: Iterable[RankTrack]) -> float:
    """Return the time of a step on the fastest rank; a guess where none has done a step.

    The mean without the longest tenth: a checkpoint says nothing about how fast the steps come, and neither
    does the median where batches come in pairs.
    """
    found: list[float] = []
    for track in live:
        walls = sorted(row.wall_ns / 1e9 for row in track.log.since(len(track.log) - _JUDGED_STEPS))
        kept = walls[: max(1, round(len(walls) * _KEPT_SHARE))]
        if kept:
            found.append(sum(kept) / len(kept))
    return min(found, default=_DEFAULT_STEP_S)


def margin_steps(live: Sequence[RankTrack]) -> int:
    """Return how many steps ahead an order must be for every rank to hear of it in time."""
    return max(3, math.ceil(2 * _COMMAND_DELAY_S / max(step_s(live), 1e-4)))


def warm_steps(live: Iterable[RankTrack]) -> int:
    """Return 2 where a capture is a rank's first, or it compiles (a profiler may make it compile anew)."""
    tracks = list(live)
    first = any(not any("start" in r.cost_ms for r in track.windows.values()) for track in tracks)
    compiled = any(track.facts.compile is not None and track.facts.compile.graphs for track in tracks)
    return 2 if first or compiled else 1


def start_step(live: Sequence[RankTrack], warm: int, not_before: int) -> int:
    """Return the first step to record; negative: as soon as possible, which one rank alone can do."""
    if len(live) == 1 and not_before < 0:
        return -1
    furthest = max(len(track.log) for track in live)
    return max(furthest + margin_steps(live) + warm, not_before)


def events_per_step(live: Iterable[RankTrack], preset: Preset) -> float | None:
    """Return how many events a step has with a preset, as the newest windows had it; None: not known."""
    found: list[float] = []
    for track in live:
        told = [r for r in track.windows.values() if r.events and r.steps and r.preset == preset]
        found += [report.events / report.steps for report in told[-1:]]
    return max(found, default=None)


def orders(
    command: ProfileCommand,
    window_id: str,
    folder: Path,
    ranks: Iterable[int],
    start: int,
    warm: int,
    steps: int,
) -> list[tuple[int, ArmWindow]]:
    """Return what to send to which rank: all record, the chosen ones keep the file."""
    return [
        (
            rank,
            ArmWindow(
                window_id=window_id,
                start_step=start,
                warm_steps=warm,
                steps=steps,
                preset=command.preset,
                directory=str(folder),
                keep=command.ranks is None or rank in command.ranks,
            ),
        )
        for rank in ranks
    ]
