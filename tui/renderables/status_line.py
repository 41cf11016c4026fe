"""The host, and what perftui itself costs and loses: one line, or two where there is room."""

from collections.abc import Sequence

from perftui.ipc.figures import counted, stands_out
from perftui.tui import format as fmt
from perftui.tui.layout import WIDE
from perftui.tui.renderables.host_lines import host_parts, store_parts
from perftui.tui.renderables.lines import BLANK, Line, Run, join, join_fitting, line, spread, width_of
from perftui.tui.state import DashboardState

_GAP = line(Run(" · ", "frame"))
_BETWEEN = 2
_OWN_LEAST = 48
_OWN_PERCENT = 58
"""Of the width, for what perftui says of itself; what it has lost is said in any case."""


def status_line(state: DashboardState, width: int) -> Line:
    """Draw the first host's most needed figures at the left, our own at the right."""
    if not state.hosts:
        return _with_own(state, (), width)
    host, hosts = state.hosts[0], len(state.hosts)
    own = _own(state, width)
    cores, *rest = host_parts(host, hosts)
    for unit in (True, False):
        if width_of(cores) > _room_beside(own, width):
            cores = host_parts(host, hosts, bar=False, unit=unit)[0]
    memory, *stores = store_parts(host)
    return _with_own(state, [_others(state), cores, memory, *rest, *stores], width)


def status_lines(state: DashboardState, width: int, height: int) -> list[Line]:
    """Draw one line, or two: the cores on a line of their own, memory and disks before our own."""
    if height < 2 or not state.hosts:
        return [status_line(state, width)]
    parts = [_others(state), *host_parts(state.hosts[0], len(state.hosts))]
    cores = join_fitting(parts, _GAP, width - 2)
    return [(Run(" "), *cores), _with_own(state, store_parts(state.hosts[0]), width)]


def _others(state: DashboardState) -> Line:
    """Say how the hosts of a run stand that has several."""
    if not state.links:
        return BLANK
    lost = [link for link in state.links if link.state == "lost"]
    here = sum(link.state in ("lead", "joined") for link in state.links)
    word = line(
        Run(f"{here} of {len(state.links)} hosts" if here < len(state.links) else f"{here} hosts", "dim")
    )
    if not lost:
        return word
    longest = max(lost, key=lambda link: link.age_s)
    return (*word, Run(f" {fmt.clean(longest.host)} not heard for {fmt.age(longest.age_s)}", "critical"))


def _with_own(state: DashboardState, parts: Sequence[Line], width: int) -> Line:
    own = _own(state, width)
    host = join_fitting(parts, _GAP, _room_beside(own, width)) if parts else BLANK
    return (Run(" "), *spread(host, (*own, Run(" ")), width - 1))


def _room_beside(own: Line, width: int) -> int:
    return width - width_of(own) - 2 - _BETWEEN


def _own(state: DashboardState, width: int) -> Line:
    """Say what perftui costs the training, what it has lost, and what reading host and GPUs takes."""
    troubles = _troubles(state)
    needed = join([_cost(state, wide=width >= WIDE), *troubles], _GAP)
    if width_of(needed) > width - 2:
        needed = join_fitting(troubles, _GAP, width - 2)
    room = max(_OWN_LEAST, width * _OWN_PERCENT // 100)
    more = [_readings(state, room - width_of(needed) - width_of(_GAP))]
    if not troubles:
        more.append(line(Run("dropped nothing" if needed else "perftui dropped nothing", "dim")))
    return join_fitting([needed, *more], _GAP, max(room, width_of(needed)))


def _cost(state: DashboardState, *, wide: bool) -> Line:
    """Say it with its noise, as measured against steps without the hooks; before, what one stamp tells.

    What does not stand out of the noise is no figure, and neither is what the clock said in the hooks while
    others had the core.
    """
    header = state.header
    if header is not None and header.shadow_us is not None and header.shadow_se_us is not None:
        if not stands_out(header.shadow_us, header.shadow_se_us):
            noise = f"±{fmt.microseconds(header.shadow_se_us)} a step"
            said = (
                "perftui costs too little to measure here: within " if wide else "perftui's cost is within "
            )
            return line(Run(said, "dim"), noise)
        figure = fmt.with_error_us(header.shadow_us, header.shadow_se_us)
        of = f" (of {fmt.microseconds(header.step_us)})" if header.step_us else ""
        return line(Run("perftui costs ", "dim"), figure, Run(f" a step{of}", "dim"))
    if header is None or header.overhead_us is None:
        return BLANK
    if state.host_is_busy:
        return line(Run("perftui's cost: not to be measured on a busy host", "dim"))
    share = f" ({fmt.percent(header.overhead_share)})" if header.overhead_share else ""
    return line(
        Run("perftui costs ", "dim"), fmt.microseconds(header.overhead_us), Run(f" a step{share}", "dim")
    )


def _troubles(state: DashboardState) -> list[Line]:
    dropped = sum(rank.dropped for rank in state.ranks)
    lost = sum(rank.lost_frames for rank in state.ranks)
    errors = sum(rank.probe_errors for rank in state.ranks)
    return [
        line(Run(f"{counted(number, noun)}{how}", "warning"))
        for number, noun, how in (
            (dropped, "step", " dropped"),
            (lost, "frame", " lost"),
            (errors, "probe error", ""),
        )
        if number
    ]


def _readings(state: DashboardState, room: int) -> Line:
    """Say what reading host and GPUs takes of a core: one by one, or in sum where room is scarce."""
    host = state.hosts[0].sampler_cpu_share if state.hosts else None
    gpu = next((gpu.sampler_cpu_share for gpu in state.gpus if gpu.sampler_cpu_share is not None), None)
    known = [share for share in (host, gpu) if share is not None]
    if not known:
        return BLANK
    if len(known) == 1:
        return line(Run(f"{'GPU' if host is None else 'host'} readings ", "dim"), fmt.percent(known[0]))
    apart = line(
        Run("readings ", "dim"),
        fmt.percent(host),
        Run(" host ", "dim"),
        fmt.percent(gpu),
        Run(" GPU", "dim"),
    )
    return apart if width_of(apart) <= room else line(Run("readings ", "dim"), fmt.percent(sum(known)))
