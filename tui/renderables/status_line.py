"""The host, and what perftui itself costs and loses: one line."""

from perftui.ipc.view import HostView
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, join_fitting, line, spread, width_of
from perftui.tui.state import DashboardState

_GAP = line(Run(" · ", "frame"))


def status_line(state: DashboardState, width: int) -> Line:
    """Draw the first host's figures at the left, our own at the right."""
    own = _own(state)
    room = width - width_of(own) - 3
    host = join_fitting(_host(state.hosts[0], len(state.hosts)), _GAP, room) if state.hosts else BLANK
    return (Run(" "), *spread(host, (*own, Run(" ")), width - 1))


def _host(host: HostView, hosts: int) -> list[Line]:
    memory = fmt.used_of(host.memory_used_mib, host.memory_total_mib)
    more = f" +{hosts - 1}" if hosts > 1 else ""
    return [
        line(
            Run(f"{fmt.clean(host.name)}{more} ", "dim"), Run("cpu ", "dim"), _cores(host.cpu_busy, host.cpus)
        ),
        line(Run("this run ", "dim"), _cores(host.run_busy, None)),
        line(Run("mem ", "dim"), memory),
        line(Run(fmt.clean(host.gpu_note), "dim")) if host.gpu_note else BLANK,
        line(Run("waiting for cpu ", "dim"), fmt.percent(host.pressure_share))
        if host.pressure_share is not None
        else BLANK,
        line(Run("shm free ", "dim"), fmt.mebibytes(host.shm_free_mib)),
        line(Run("load ", "dim"), fmt.number(host.load_1m)),
    ]


def _cores(busy: float | None, cpus: float | None) -> str:
    used = fmt.NOTHING if busy is None else f"{busy:.1f}"
    return used if cpus is None else f"{used}/{cpus:g}"


def _readings(state: DashboardState) -> list[Line]:
    """Return what the process that reads the GPUs takes of a core."""
    share = next((gpu.sampler_cpu_share for gpu in state.gpus if gpu.sampler_cpu_share is not None), None)
    return [] if share is None else [line(Run("GPU readings ", "dim"), fmt.percent(share))]


def _own(state: DashboardState) -> Line:
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
        parts = [cost, *_readings(state), *parts]
    return join_fitting(parts, _GAP, 60)
