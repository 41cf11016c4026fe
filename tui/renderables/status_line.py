"""The host, and what perftui itself costs and loses: one line, or two where there is room."""

from perftui.tui import format as fmt
from perftui.tui.renderables.host_lines import host_parts, store_parts
from perftui.tui.renderables.lines import BLANK, Line, Run, join_fitting, line, spread, width_of
from perftui.tui.state import DashboardState

_SHORT_BELOW = 100
_GAP = line(Run(" · ", "frame"))


def status_line(state: DashboardState, width: int) -> Line:
    """Draw the first host's most needed figures at the left, our own at the right."""
    parts: list[Line] = []
    if state.hosts:
        cores, *rest = host_parts(state.hosts[0], len(state.hosts), short=width < _SHORT_BELOW)
        memory, *stores = store_parts(state.hosts[0])
        parts = [cores, memory, *rest, *stores]
    return _with_own(state, parts, width)


def status_lines(state: DashboardState, width: int, height: int) -> list[Line]:
    """Draw one line, or two: the cores on a line of their own, memory and disks before our own."""
    if height < 2 or not state.hosts:
        return [status_line(state, width)]
    cores = join_fitting(host_parts(state.hosts[0], len(state.hosts)), _GAP, width - 2)
    return [(Run(" "), *cores), _with_own(state, store_parts(state.hosts[0]), width)]


def _with_own(state: DashboardState, parts: list[Line], width: int) -> Line:
    own = _own(state, short=width < _SHORT_BELOW)
    room = width - width_of(own) - 3
    host = join_fitting(parts, _GAP, room) if parts else BLANK
    return (Run(" "), *spread(host, (*own, Run(" ")), width - 1))


def _own(state: DashboardState, *, short: bool) -> Line:
    header = state.header
    dropped = sum(rank.dropped for rank in state.ranks)
    lost = sum(rank.lost_frames for rank in state.ranks)
    errors = sum(rank.probe_errors for rank in state.ranks)
    troubles = [
        line(Run(f"{number:,} {word}", "warning"))
        for number, word in ((dropped, "steps dropped"), (lost, "frames lost"), (errors, "probe errors"))
        if number
    ]
    parts = troubles or [line(Run("perftui dropped nothing", "dim"))]
    if header is not None and header.overhead_us is not None:
        share = f" ({fmt.percent(header.overhead_share)})" if header.overhead_share else ""
        cost = line(
            Run("perftui costs ", "dim"), fmt.microseconds(header.overhead_us), Run(f" a step{share}", "dim")
        )
        parts = [cost, *parts]
    sampler = BLANK if short else _sampler(state)
    return join_fitting([*parts[:1], sampler, *parts[1:]], _GAP, 60)


def _sampler(state: DashboardState) -> Line:
    """Say what reading the host costs, in the hub."""
    share = state.hosts[0].sampler_cpu_share if state.hosts else None
    return BLANK if share is None else line(Run("sampler ", "dim"), fmt.percent(share))
