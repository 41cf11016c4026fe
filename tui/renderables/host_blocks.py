"""The page of hosts: its link to the lead, how far its clock is off, and who keeps its cores busy."""

from collections.abc import Sequence

from perftui.ipc.figures import counted
from perftui.ipc.host_links import HostLink
from perftui.ipc.view import HostView, RankView
from perftui.tui import format as fmt
from perftui.tui.renderables.host_lines import host_parts, store_parts
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, join_fitting, line
from perftui.tui.renderables.page import Block
from perftui.tui.state import DashboardState

_GAP = line(Run(" · ", "frame"))
_MARGIN = "  "
_RANKS_SHOWN = 12
_EVENTS = ("host", "attempt")
_EVENTS_SHOWN = 12
_MARKS = {
    "lead": ("●", "fine", "leads"),
    "joined": ("●", "fine", "joined"),
    "lost": ("!", "critical", "not heard"),
    "left": ("■", "dim", "has left"),
}


def host_blocks(state: DashboardState, width: int) -> list[Block]:
    """Draw one block a host; of a run on one host, that host."""
    links = {link.host: link for link in state.links}
    views = {view.name: view for view in state.hosts}
    names = [*links, *(name for name in views if name not in links)]
    if not names:
        return [Block("", (line(Run("○ no host has been read so far", "note")),))]
    blocks = [
        Block(name, tuple(_lines(name, links.get(name), views.get(name), state.ranks, width)))
        for name in names
    ]
    return [*blocks, *_events(state, width)]


def _events(state: DashboardState, width: int) -> list[Block]:
    """List what happened to hosts and attempts, with the time since the launch."""
    began = state.header.started_unix if state.header else 0.0
    told = [mark for mark in state.marks if mark.event in _EVENTS][-_EVENTS_SHOWN:]
    if not told:
        return []
    lines = [
        clip(line(Run(f"{fmt.duration(mark.unix - began):>10}  ", "dim"), fmt.clean(mark.text)), width)
        for mark in told
    ]
    return [Block("", (line(Run("what happened", "heading")), *lines))]


def _lines(
    name: str, link: HostLink | None, view: HostView | None, ranks: Sequence[RankView], width: int
) -> list[Line]:
    mine = [rank for rank in ranks if rank.host == name]
    drawn = [join_fitting([_title(name, link), _ranks(mine), _joins(link)], line("  "), width)]
    drawn += [_indented([_clock(link), _dropped(link), _address(link)], width)] if link is not None else []
    if view is not None:
        cores, *rest = host_parts(view, 1)
        drawn += [_indented([cores, *rest], width), _indented(store_parts(view), width)]
    elif link is not None and link.state != "left":
        drawn.append(clip(line(Run(f"{_MARGIN}its figures have not come yet", "dim")), width))
    return [each for each in drawn if each] + [BLANK]


def _indented(parts: Sequence[Line], width: int) -> Line:
    joined = join_fitting(parts, _GAP, width - len(_MARGIN))
    return (Run(_MARGIN), *joined) if joined else BLANK


def _title(name: str, link: HostLink | None) -> Line:
    mark, role, word = _MARKS[link.state] if link is not None else ("●", "fine", "")
    told = Run(f" {word}", role if role == "critical" else "dim") if word else Run("")
    if link is not None and link.state == "lost":
        told = Run(f" {word} for {fmt.age(link.age_s)}; its training may well go on", role)
    if link is not None and link.state == "left" and link.exit_code is not None:
        told = Run(f" {word}, exit code {link.exit_code}", "dim" if link.exit_code == 0 else "critical")
    return line(Run(f"{mark} ", role), Run(fmt.clean(name), "title"), told)


def _ranks(ranks: Sequence[RankView]) -> Line:
    if not ranks:
        return line(Run("no rank", "dim"))
    numbers = [rank.rank for rank in ranks]
    shown = ", ".join(map(str, numbers[:_RANKS_SHOWN])) + (" …" if len(numbers) > _RANKS_SHOWN else "")
    quiet = sum(rank.state == "silent" for rank in ranks)
    silent = Run(f" {quiet} silent", "warning") if quiet else Run("")
    return line(Run("rank " if len(numbers) == 1 else "ranks ", "dim"), shown, silent)


def _joins(link: HostLink | None) -> Line:
    if link is None or link.joins < 2:
        return BLANK
    return line(Run(f"joined {counted(link.joins, 'time')}", "dim"))


def _clock(link: HostLink) -> Line:
    """Say how far its clock is off; the lead's own is the measure."""
    if link.state == "lead":
        return BLANK
    if link.clock_offset_ms is None or link.clock_error_ms is None:
        return line(Run("clock ", "dim"), fmt.NOTHING)
    sure = abs(link.clock_offset_ms) > link.clock_error_ms
    offset = f"{link.clock_offset_ms:+.2f} ± {link.clock_error_ms:.2f} ms"
    return line(
        Run("clock ", "dim"), Run(offset, "text" if sure else "dim"), Run(" against the lead's", "dim")
    )


def _address(link: HostLink) -> Line:
    if link.address is None:
        return BLANK
    trip = "" if link.round_trip_ms is None else f", {link.round_trip_ms:.2f} ms there and back"
    return line(Run(f"from {fmt.clean(link.address)}{trip}", "dim"))


def _dropped(link: HostLink) -> Line:
    if not link.dropped:
        return BLANK
    return line(Run(f"{fmt.count(link.dropped)} entries lost while the link was away", "warning"))
