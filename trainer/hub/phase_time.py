"""What a rank is at and what its time went to, at a moment: its own word, carried on. Pure."""

from typing import NamedTuple

from perftui.ipc.facts import RUN_PHASES, PhaseFacts, RunPhase
from perftui.trainer.hub.rank_track import RankTrack

_TAKE_LONG: tuple[RunPhase, ...] = ("checkpoint", "compiling")
"""While these go on nothing is seen of the training thread until they end."""


class PhaseTime(NamedTuple):
    """A rank's phases."""

    phase: RunPhase
    for_s: float
    """How long it goes on already."""
    seconds: dict[str, float]
    """Every phase there is, from the launch until the moment."""


def phase_time(track: RankTrack, started_unix: float, until_unix: float) -> PhaseTime | None:
    """Return the phases of a rank; None while it has not told any.

    Until the rank's next word its phase goes on. What lay between the launch and the process counts to
    `starting`, so that the seconds sum to what has passed since the launch; in a rank that was started again
    they sum to what has passed since its process began.

    Args:
        track: the rank.
        started_unix: when the run was launched; of a rank that was started again, its own first word.
        until_unix: the moment.
    """
    facts = track.facts.phases
    if facts is None:
        return None
    offset_s = track.hello.wall_offset_ns / 1e9
    seconds = {phase: facts.seconds.get(phase, 0.0) for phase in RUN_PHASES}
    seconds[facts.phase] += max(0.0, until_unix - (facts.at_ns / 1e9 + offset_s))
    seconds["starting"] += max(0.0, facts.began_ns / 1e9 + offset_s - started_unix)
    for_s = max(0.0, until_unix - (facts.since_ns / 1e9 + offset_s))
    return PhaseTime(facts.phase, for_s, {phase: round(value, 3) for phase, value in seconds.items()})


def phase_now(track: RankTrack, until_unix: float) -> tuple[RunPhase, float] | None:
    """Return only what a rank is at, and for how many seconds; None while it has not told any."""
    facts = track.facts.phases
    if facts is None:
        return None
    return facts.phase, max(0.0, until_unix - (facts.since_ns + track.hello.wall_offset_ns) / 1e9)


def active_unix(track: RankTrack, now: float) -> float | None:
    """Return when the rank was last seen to get on, in a step or beside it (unix); None before anything.

    A checkpoint and a compilation count as getting on for as long as they last.
    """
    facts: PhaseFacts | None = track.facts.phases
    if facts is None or facts.newest_ns < 0:
        return track.last_step_unix
    if facts.phase in _TAKE_LONG:
        return now
    seen = (facts.newest_ns + track.hello.wall_offset_ns) / 1e9
    return max(seen, track.last_step_unix or seen)
