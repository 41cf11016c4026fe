"""The first host: who keeps its cores busy, what stands still, memory, disks. Pure pictures."""

from perftui.ipc.view import HostView, Pressure
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, line

_BAR_CELLS = 10
_MUCH = 0.1
"""From this share on, waiting and throttling are drawn as trouble."""
_OLD_S = 5.0
_SLOW_OLD_S = 15.0
_SHM_LOW = 0.2


def cores_bar(host: HostView, width: int = _BAR_CELLS) -> Line:
    """Draw the usable cores: solid for this run, half-tone for others, light for what is idle."""
    if host.run_busy is None or host.others_busy is None or not host.cpus:
        return line(Run("·" * width, "track"))
    # with a quota below the mask others may keep more cores busy than this run may ever have
    whole = max(host.cpus, host.run_busy + host.others_busy)
    run = round(host.run_busy / whole * width)
    both = round((host.run_busy + host.others_busy) / whole * width)
    return line(
        Run("█" * run, "accent"), Run("▒" * (both - run), "warning"), Run("░" * (width - both), "track")
    )


def host_parts(host: HostView, hosts: int, *, bar: bool = True, unit: bool = True) -> list[Line]:
    """Return what is said of the cores, the most needed first: that with its `bar` and `unit`, or without."""
    more = f" +{hosts - 1}" if hosts > 1 else ""
    stale = Run(f" {fmt.age(host.age_s)} old", "warning") if host.age_s > _OLD_S else Run("")
    drawn = line(" ", *cores_bar(host)) if bar else BLANK
    return [
        line(Run(f"{fmt.clean(host.name)}{more}", "dim"), stale, *drawn, " ", *_cores(host, unit=unit)),
        _throttled(host),
        _waiting(host),
        _iowait(host.pressure_io),
        line(Run("load ", "dim"), fmt.number(host.load_1m)),
        line(Run("stolen ", "dim"), Run(f"{host.stolen:.1f} cores", "warning"))
        if host.stolen is not None and host.stolen >= _MUCH
        else BLANK,
        line(Run(fmt.clean(host.gpu_note), "dim")) if host.gpu_note else BLANK,
    ]


def store_parts(host: HostView) -> list[Line]:
    """Return what is said of memory, disks and network, the most needed first."""
    old = host.slow_age_s is not None and host.slow_age_s > _SLOW_OLD_S
    return [
        _memory(host),
        _shm(host),
        _disk(host),
        line(fmt.percent(host.cached_read_share), Run(" of reads cached", "dim"))
        if host.cached_read_share is not None
        else BLANK,
        line(Run("swapping ", "dim"), Run(f"{fmt.number(host.swap_in_mib_s)} MiB/s in", "warning"))
        if host.swap_in_mib_s
        else BLANK,
        line(Run("net ", "dim"), f"{_rate(host.network_in_mib_s)} in {_rate(host.network_out_mib_s)} out")
        if host.network_in_mib_s is not None
        else BLANK,
        line(Run(f"{fmt.age(host.slow_age_s or 0.0)} old", "warning")) if old else BLANK,
    ]


def _cores(host: HostView, *, unit: bool) -> Line:
    return line(
        Run("run ", "dim"),
        _number(host.run_busy),
        Run(" others ", "dim"),
        _number(host.others_busy),
        Run(" of ", "dim"),
        fmt.NOTHING if host.cpus is None else f"{host.cpus:g}",
        Run(" cores" if unit else "", "dim"),
    )


def _number(cores: float | None) -> str:
    return fmt.NOTHING if cores is None else f"{cores:.1f}"


def _throttled(host: HostView) -> Line:
    if host.throttled_share is None:
        return BLANK  # no quota, as a rule
    role = "critical" if host.throttled_share >= _MUCH else "text"
    return line(Run("throttled ", "dim"), Run(fmt.percent(host.throttled_share), role))


def _waiting(host: HostView) -> Line:
    """Say which share of time tasks stood still for want of what."""
    runs: list[Run | str] = []
    for name, pressure in (
        ("cpu", host.pressure_cpu),
        ("disk", host.pressure_io),
        ("memory", host.pressure_memory),
    ):
        if pressure is None or pressure.source == "iowait" or (name == "memory" and not pressure.some):
            continue
        runs += [Run(f" {name} ", "dim"), _much(pressure.some)]
    if not runs:
        if host.pressure_share is None:
            return BLANK
        runs = [Run(" cpu ", "dim"), fmt.percent(host.pressure_share)]
    return line(Run("waiting for", "dim"), *runs)


def _iowait(pressure: Pressure | None) -> Line:
    if pressure is None or pressure.source != "iowait":
        return BLANK
    return line(Run("iowait ", "dim"), _much(pressure.some))


def _much(share: float | None) -> Run:
    return Run(fmt.percent(share), "warning" if (share or 0.0) >= _MUCH else "text")


def _memory(host: HostView) -> Line:
    limit = Run(" limit", "dim") if host.memory_scope == "cgroup" else Run("")
    killed = Run(f" {host.oom_kills} killed", "critical") if host.oom_kills else Run("")
    return line(Run("mem ", "dim"), fmt.used_of(host.memory_used_mib, host.memory_total_mib), limit, killed)


def _shm(host: HostView) -> Line:
    free, total = host.shm_free_mib, host.shm_total_mib
    if free is None:
        return BLANK
    low = total is not None and free < _SHM_LOW * total
    return line(Run("shm free ", "dim"), Run(fmt.mebibytes(free), "warning" if low else "text"))


def _disk(host: HostView) -> Line:
    if host.disk_read_mib_s is None:
        return BLANK
    return line(
        Run("disk ", "dim"),
        f"{_rate(host.disk_read_mib_s)} read {_rate(host.disk_write_mib_s)} write",
        Run(" MiB/s", "dim"),
    )


def _rate(mib_s: float | None) -> str:
    if mib_s is None:
        return fmt.NOTHING
    return f"{mib_s:.0f}" if mib_s >= 9.95 else f"{mib_s:.1f}"
