"""What the dashboard knows: one frozen picture of the run, and how an update is folded into it.

The reader thread folds, the screen only formats. Everything is bounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import msgspec

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.findings import Finding, Unjudged
from perftui.ipc.host_links import HostLink
from perftui.ipc.view import (
    GpuView,
    Header,
    HostView,
    Mark,
    ProfileView,
    RankHistory,
    RanksTogether,
    RankView,
    RelaunchView,
    RunView,
)
from perftui.tui.format import clean
from perftui.tui.key_map import KEY_NAMES

POINTS_MAX = 1200
"""Steps of history a rank keeps here, while there are few ranks."""
POINTS_OF_ALL_RANKS = 48_000
MARKS_MAX = 200
OUTPUT_MAX = 1000
PROFILES_MAX = 20
_ENDED = ("finished", "failed", "stopped", "lost")


@dataclass(frozen=True)
class Track:
    """The newest steps of one rank as columns of equal length, oldest first; times in ms."""

    step: tuple[int, ...] = ()
    wall_ms: tuple[float, ...] = ()
    wait_ms: tuple[float, ...] = ()
    flags: tuple[int, ...] = ()


NO_TRACK = Track()


@dataclass(frozen=True)
class DashboardState:
    """The run as last heard of. `header` is None until the first update."""

    run_id: str
    number: int = 0
    header: Header | None = None
    ranks: tuple[RankView, ...] = ()
    gpus: tuple[GpuView, ...] = ()
    hosts: tuple[HostView, ...] = ()
    links: tuple[HostLink, ...] = ()
    """The hosts of a run that has several, the lead first."""
    findings: tuple[Finding, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    profiles: tuple[ProfileView, ...] = ()
    relaunch: RelaunchView | None = None
    """Of this run, or else of the run that this one replaced."""
    tracks: Mapping[int, Track] = field(default_factory=lambda: MappingProxyType({}))
    marks: tuple[Mark, ...] = ()
    output: tuple[str, ...] = ()
    output_number: int = 0
    partial: str = ""
    """The unfinished last line of the output: a progress bar, say."""
    trials_s: tuple[float, float] | None = None
    """How long the trials of the leading remedy will take: about, and at most."""
    together: RanksTogether | None = None
    updates: int = 0
    """Updates folded so far: shown while the picture is frozen."""
    connected: bool = False
    silent_s: float = 0.0
    """How long the hub has said nothing, while not connected."""
    keys: Mapping[str, str] = field(default_factory=lambda: KEY_NAMES)
    """What the key of each action looks like, for words that tell a person to press it."""

    @property
    def ended(self) -> bool:
        """True when the run is over: a silent hub is then no loss."""
        return self.header is not None and self.header.state in _ENDED

    @property
    def replayed(self) -> bool:
        """True when this is a recording."""
        return self.header is not None and self.header.replay

    @property
    def host_is_busy(self) -> bool:
        """True while a finding says that step times tell little, for other work on a host."""
        return any(each.code == "self.contended" and each.severity != "info" for each in self.findings)

    def track(self, rank: int) -> Track:
        """Return the history of a rank, empty when there is none."""
        return self.tracks.get(rank, NO_TRACK)

    @cached_property
    def gpus_by_uuid(self) -> Mapping[str, GpuView]:
        """The GPUs by their names."""
        return {gpu.uuid: gpu for gpu in self.gpus}

    def gpu_of(self, rank: RankView) -> GpuView | None:
        """Return the GPU that a rank uses, if it is known."""
        return None if rank.gpu_uuid is None else self.gpus_by_uuid.get(rank.gpu_uuid)


def apply(state: DashboardState, update: Update) -> DashboardState:
    """Fold one update into a state; an older one than the state holds changes nothing."""
    if update.snapshot:
        state = DashboardState(
            run_id=state.run_id, relaunch=state.relaunch, updates=state.updates, keys=state.keys
        )
    elif update.number < state.number:
        return state
    view = update.view
    ranks = _merged_ranks(state.ranks, view.ranks)
    lines, output_number = _output(state, update)
    news = update.snapshot or update.anew or update.number > state.number
    return replace(
        state,
        number=update.number,
        header=view.header,
        ranks=ranks,
        gpus=state.gpus if view.gpus is None else tuple(view.gpus),
        hosts=state.hosts if view.hosts is None else tuple(view.hosts),
        links=tuple(view.links),
        findings=tuple(view.findings),
        unjudged=state.unjudged if update.unjudged is None else tuple(update.unjudged),
        profiles=_merged_profiles(state.profiles, view.profiles),
        relaunch=_relaunch(state, view),
        tracks=_extended(state.tracks, update, len(ranks)),
        marks=((() if update.anew else state.marks) + tuple(update.marks if news else ()))[-MARKS_MAX:],
        output=lines,
        output_number=output_number,
        partial=clean(update.output_partial),
        trials_s=view.trials_s,
        together=view.together,
        updates=state.updates + 1,
        connected=True,
        silent_s=0.0,
    )


def silent(state: DashboardState, silent_s: float) -> DashboardState:
    """Return the state with a hub that has been silent for so long."""
    return replace(state, connected=False, silent_s=silent_s)


def followed(state: DashboardState, run_id: str) -> DashboardState:
    """Return the empty state of the run that replaced this one; its verdict is carried over."""
    return DashboardState(run_id=run_id, relaunch=state.relaunch, updates=state.updates, keys=state.keys)


def asks_for_workers(state: DashboardState) -> bool:
    """Whether the leading finding waits for a window to tell what the loader workers do."""
    lead = next(iter(state.findings), None)
    asked = (lead.unsure or "") if lead is not None and lead.code.startswith("input.") else ""
    return "profile window" in asked and "workers" in asked


def open_window(state: DashboardState) -> ProfileView | None:
    """Return the profiling window that can still be ended without a result."""
    under_way = [view for view in state.profiles if view.state in ("armed", "recording")]
    return under_way[-1] if under_way and not state.ended else None


def run_of(state: DashboardState) -> str:
    """Return the id of the run in the picture.

    That under which its hub is reached is another one of a recording, and of a run that another host leads.
    """
    return state.header.run_id if state.header is not None else state.run_id


def led_elsewhere(state: DashboardState) -> bool:
    """Whether this is a run that another host leads, reached by that host's address."""
    return not state.replayed and run_of(state) != state.run_id


def going_on(relaunch: RelaunchView | None) -> bool:
    """Whether a relaunch has begun and has not come to its end."""
    return relaunch is not None and relaunch.state not in ("done", "failed")


def closed(state: DashboardState, relaunch_id: str | None) -> DashboardState:
    """Return the state without the relaunch of that id: its verdict was read and closed."""
    if state.relaunch is None or state.relaunch.relaunch_id != relaunch_id:
        return state
    return replace(state, relaunch=None)


def _relaunch(state: DashboardState, view: RunView) -> RelaunchView | None:
    """Return the newest relaunch, but in a recording none that goes on: it never came to its end."""
    newest = view.relaunch or state.relaunch
    return None if view.header.replay and going_on(newest) else newest


def _merged_ranks(known: tuple[RankView, ...], changed: list[RankView]) -> tuple[RankView, ...]:
    if not changed:
        return known
    by_rank = {view.rank: view for view in known}
    for view in changed:
        before = by_rank.get(view.rank)
        by_rank[view.rank] = view if before is None else _completed(view, before)
    return tuple(by_rank[rank] for rank in sorted(by_rank))


def _completed(view: RankView, before: RankView) -> RankView:
    """Return the view with what it leaves out because it is as before."""
    if view.brief:
        return msgspec.structs.replace(
            view,
            losses=view.losses or before.losses,
            settings=view.settings or before.settings,
            settings_failed=view.settings_failed or before.settings_failed,
            device_ms=view.device_ms or before.device_ms,
            facts=view.facts or before.facts,
            phases_s=view.phases_s or before.phases_s,
        )
    return msgspec.structs.replace(view, facts=before.facts) if view.facts is None else view


def _merged_profiles(known: tuple[ProfileView, ...], changed: list[ProfileView]) -> tuple[ProfileView, ...]:
    if not changed:
        return known
    by_id = {view.window_id: view for view in (*known, *changed)}
    return tuple(sorted(by_id.values(), key=lambda view: view.requested_unix))[-PROFILES_MAX:]


def _output(state: DashboardState, update: Update) -> tuple[tuple[str, ...], int]:
    """Append the lines that are new, told by their numbers."""
    unseen = update.output_number - state.output_number
    if unseen <= 0 or not update.output:
        return state.output, max(state.output_number, update.output_number)
    lines = (clean(text) for text in update.output[-unseen:])
    return (*state.output, *lines)[-OUTPUT_MAX:], update.output_number


def _extended(tracks: Mapping[int, Track], update: Update, ranks: int) -> Mapping[int, Track]:
    """Append what is new; of many ranks those that are looked at more closely keep all they can."""
    if not update.history:
        return tracks
    limit = max(60, min(POINTS_MAX, POINTS_OF_ALL_RANKS // max(1, ranks)))
    extended = dict(tracks)
    if update.anew:
        extended.update(dict.fromkeys(update.closer, NO_TRACK))
    for new in update.history:
        kept = POINTS_MAX if new.rank in update.closer else limit
        extended[new.rank] = _with(extended.get(new.rank, NO_TRACK), new, kept)
    return MappingProxyType(extended)


def _with(track: Track, new: RankHistory, limit: int) -> Track:
    """Append the points that lie after the last one known."""
    stride = max(1, new.stride)
    last = track.step[-1] if track.step else -1
    skip = max(0, -(-(last + 1 - new.first_step) // stride))
    steps = range(new.first_step, new.first_step + len(new.wall_ms) * stride, stride)
    return Track(
        step=(*track.step, *steps[skip:])[-limit:],
        wall_ms=(*track.wall_ms, *new.wall_ms[skip:])[-limit:],
        wait_ms=(*track.wait_ms, *new.wait_ms[skip:])[-limit:],
        flags=(*track.flags, *new.flags[skip:])[-limit:],
    )
