"""What the screen showed earlier: moments of the state, kept small and within a bound, to go back to. Pure.

A moment holds what an update says as a whole, packed; what grows (steps, marks, output) is cut out of the
live state, or, where that has let go of the steps, out of an anchor: the tracks as they were some time later.
As the past grows older its moments lie further apart, so that it reaches back to where this dashboard began.
"""

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import msgspec

from perftui.ipc.dashboard_messages import MANY_RANKS
from perftui.ipc.facts import RankFacts
from perftui.ipc.findings import Unjudged
from perftui.ipc.units import MIB
from perftui.ipc.view import RankView, RunView
from perftui.tui.state import DashboardState, Track

MOMENTS_MAX = 900
BYTES_MAX = 32 * MIB
_EVERY_S, _EVERY_MANY_S = 1.0, 2.0
_PACKING = 1
"""Level of zlib: the fastest; figures shrink to a third."""


_NO_FACTS: Mapping[int, RankFacts] = MappingProxyType({})


class _Kept(msgspec.Struct, frozen=True):
    view: RunView
    unjudged: list[Unjudged]
    number: int
    output_number: int
    partial: str


class _KeptTrack(msgspec.Struct, frozen=True):
    rank: int
    step: tuple[int, ...]
    wall_ms: tuple[float, ...]
    wait_ms: tuple[float, ...]
    flags: tuple[int, ...]


@dataclass(frozen=True)
class Moment:
    """The state at one time."""

    unix: float
    packed: bytes
    facts: Mapping[int, RankFacts]
    """By rank, shared with other moments: they hardly ever change, and are the larger part."""


@dataclass(frozen=True)
class _Anchor:
    """All tracks at one time; `step`: the newest of `rank`, the first of them."""

    rank: int
    step: int
    packed: bytes


@dataclass(frozen=True)
class Past:
    """Moments and anchors, oldest first."""

    moments: tuple[Moment, ...] = ()
    anchors: tuple[_Anchor, ...] = ()

    @property
    def packed_bytes(self) -> int:
        """What they take, without what they share."""
        return sum(len(each.packed) for each in self.moments) + sum(len(each.packed) for each in self.anchors)


def time_of(state: DashboardState) -> float:
    """Return the time of the picture, in unix seconds of the hub's host; 0 before the first update."""
    return state.header.started_unix + state.header.elapsed_s if state.header else 0.0


def remembered(past: Past, before: DashboardState, state: DashboardState) -> Past:
    """Return the past with the state as its newest moment, where one is due.

    Args:
        past: of the states up to `before`.
        before: the state that this one follows.
        state: the newest, just heard of. A replay needs no memory here: its hub goes to any time.
    """
    if state.header is None or state.replayed:
        return Past()
    if before.header is None or _processes(before) - _processes(state):
        past = Past()  # another run; or a rank was started again, and counts its steps anew
    every_s = _EVERY_S if len(state.ranks) <= MANY_RANKS else _EVERY_MANY_S
    if past.moments and not time_of(state) - past.moments[-1].unix >= every_s:
        return past
    anchors = past.anchors
    if _anchor_due(anchors, state):
        anchors = (*anchors, _anchor(state))
    facts = past.moments[-1].facts if past.moments else _NO_FACTS
    return _bounded(Past((*past.moments, _moment(state, facts)), anchors))


def step_back(past: Past, unix: float, by: int) -> Moment | None:
    """Return the moment so many before (by < 0) or after `unix`; None: that is beyond the newest."""
    times = [moment.unix for moment in past.moments]
    at = (bisect_left(times, unix) if by < 0 else bisect_right(times, unix) - 1) + by
    return past.moments[max(0, at)] if at < len(times) and times else None


def state_at(live: DashboardState, past: Past, moment: Moment) -> DashboardState:
    """Return the state as it was at a moment of the run that `live` shows."""
    kept = msgspec.msgpack.decode(zlib.decompress(moment.packed), type=_Kept)
    view = kept.view
    ranks = tuple(msgspec.structs.replace(each, facts=moment.facts.get(each.rank)) for each in view.ranks)
    unseen = max(0, live.output_number - kept.output_number)
    return replace(
        live,
        number=kept.number,
        header=view.header,
        ranks=ranks,
        gpus=tuple(view.gpus or ()),
        hosts=tuple(view.hosts or ()),
        links=tuple(view.links),
        findings=tuple(view.findings),
        unjudged=tuple(kept.unjudged),
        profiles=tuple(view.profiles),
        relaunch=view.relaunch,
        tracks=_tracks(live, past, ranks),
        marks=tuple(mark for mark in live.marks if mark.unix <= moment.unix),
        output=live.output[: max(0, len(live.output) - unseen)],
        output_number=kept.output_number,
        partial=kept.partial,
        trials_s=view.trials_s,
        together=view.together,
        connected=True,
        silent_s=0.0,
    )


def _processes(state: DashboardState) -> set[tuple[int, int]]:
    return {(view.rank, view.pid) for view in state.ranks}


def _moment(state: DashboardState, facts: Mapping[int, RankFacts]) -> Moment:
    assert state.header is not None
    view = RunView(
        header=state.header,
        ranks=[msgspec.structs.replace(each, facts=None) for each in state.ranks],
        gpus=list(state.gpus),
        hosts=list(state.hosts),
        links=list(state.links),
        findings=list(state.findings),
        profiles=list(state.profiles),
        relaunch=state.relaunch,
        trials_s=state.trials_s,
        together=state.together,
    )
    kept = _Kept(view, list(state.unjudged), state.number, state.output_number, state.partial)
    told = {each.rank: each.facts for each in state.ranks if each.facts is not None}
    same = told.keys() == facts.keys() and all(told[rank] is facts[rank] for rank in told)
    return Moment(time_of(state), _packed(kept), facts if same else MappingProxyType(told))


def _packed(value: _Kept | list[_KeptTrack]) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(value), _PACKING)


def _anchor_due(anchors: Sequence[_Anchor], state: DashboardState) -> bool:
    """Whether the live tracks will soon let go of steps that no anchor has: each lets half of them lapse."""
    if not state.tracks:
        return False
    rank = min(state.tracks)
    steps = state.tracks[rank].step
    if not anchors or anchors[-1].rank != rank:
        return bool(steps)
    return bisect_right(steps, anchors[-1].step) * 2 < len(steps)


def _anchor(state: DashboardState) -> _Anchor:
    tracks = [
        _KeptTrack(rank, track.step, track.wall_ms, track.wait_ms, track.flags)
        for rank, track in state.tracks.items()
    ]
    rank = min(state.tracks)
    return _Anchor(rank, state.tracks[rank].step[-1], _packed(tracks))


def _tracks(live: DashboardState, past: Past, ranks: Sequence[RankView]) -> Mapping[int, Track]:
    """Return the tracks as they were when the ranks had done so many steps."""
    done = {view.rank: view.steps for view in ranks}
    anchor = next((each for each in past.anchors if each.step >= done.get(each.rank, 0) - 1), None)
    tracks = live.tracks if anchor is None else _unpacked(anchor)
    return MappingProxyType(
        {rank: _until(track, done[rank]) for rank, track in tracks.items() if rank in done}
    )


def _unpacked(anchor: _Anchor) -> dict[int, Track]:
    kept = msgspec.msgpack.decode(zlib.decompress(anchor.packed), type=list[_KeptTrack])
    return {each.rank: Track(each.step, each.wall_ms, each.wait_ms, each.flags) for each in kept}


def _until(track: Track, steps: int) -> Track:
    at = bisect_left(track.step, steps)
    if at == len(track.step):
        return track
    return Track(track.step[:at], track.wall_ms[:at], track.wait_ms[:at], track.flags[:at])


def _bounded(past: Past) -> Past:
    """Leave out every other moment of the older half until all fits, then the oldest."""
    while len(past.moments) > MOMENTS_MAX or past.packed_bytes > BYTES_MAX:
        half = len(past.moments) // 2
        if half < 2:
            return replace(past, anchors=past.anchors[-1:])
        kept = (*past.moments[:half:2], *past.moments[half:])
        if past.packed_bytes > BYTES_MAX and len(past.anchors) > 1:
            past = Past(kept[half // 2 :], past.anchors[len(past.anchors) // 2 :])
        else:
            past = replace(past, moments=kept)
    return past
