"""Every figure of a host, and the loader workers of one rank on it. Pure."""

from collections.abc import Sequence

from perftui.ipc.view import HostView, Pressure, WorkerView
from perftui.tui import format as fmt
from perftui.tui.renderables.figure_grid import Figure, memory_figure, share_figure, used_figure
from perftui.tui.renderables.lines import Line, Run, clip, line

_WORKERS_SHOWN = 64


def host_figures(host: HostView) -> list[Figure]:
    """Return cores first, then what is waited for, memory, disks and network."""
    return [
        Figure("cores, usable", None if host.cpus is None else f"{host.cpus:g}", "cpus"),
        Figure("busy: this run", _plain(host.run_busy), "run_busy"),
        Figure("busy: others", _plain(host.others_busy), "others_busy"),
        Figure("busy: kernel", _plain(host.system_busy), "system_busy"),
        Figure("ready to run", _count(host.runnable), "runnable"),
        Figure("load", _plain(host.load_1m), "load_1m"),
        share_figure("throttled", host.throttled_share, "throttled_share"),
        _waits("waits for CPU", host.pressure_cpu, "pressure_cpu"),
        _waits("waits for memory", host.pressure_memory, "pressure_memory"),
        _waits("waits for disk", host.pressure_io, "pressure_io"),
        used_figure("memory", host.memory_used_mib, host.memory_total_mib, "memory_used_mib"),
        memory_figure("swap used", host.swap_used_mib, "swap_used_mib"),
        memory_figure("/dev/shm free", host.shm_free_mib, "shm_free_mib"),
        Figure("OOM kills", _count(host.oom_kills), "oom_kills", "critical" if host.oom_kills else "text"),
        Figure("disk read", _rate(host.disk_read_mib_s), "disk_read_mib_s"),
        Figure("disk write", _rate(host.disk_write_mib_s), "disk_write_mib_s"),
        Figure(
            "a read takes",
            None if host.disk_read_ms is None else fmt.milliseconds(host.disk_read_ms),
            "disk_read_ms",
        ),
        share_figure("reads cached", host.cached_read_share, "cached_read_share"),
        Figure("network in", _rate(host.network_in_mib_s), "network_in_mib_s"),
        Figure("network out", _rate(host.network_out_mib_s), "network_out_mib_s"),
        Figure("run: processes", _count(host.run_processes), "run_processes"),
        Figure("run: threads", _count(host.run_threads), "run_threads"),
    ]


def worker_rows(workers: Sequence[WorkerView], width: int) -> list[Line]:
    """Draw one line a worker under a heading."""
    heading = (
        f"{'worker':>6}{'pid':>9}  {'state':<8}{'cores':>6}{'no core':>9}{'on disk':>9}{'D state':>9}"
        f"{'RSS':>10}{'reads':>14}"
    )
    rows = [clip(line(Run(heading, "dim")), width)]
    for worker in workers[:_WORKERS_SHOWN]:
        state = "ended" if worker.gone else _STATES.get(worker.state, worker.state)
        reads = fmt.NOTHING if worker.read_mib_s is None else f"{fmt.number(worker.read_mib_s)} MiB/s"
        role = "critical" if worker.gone else "warning" if worker.state == "D" else "text"
        rows.append(
            clip(
                line(
                    f"{_count(worker.number) or fmt.NOTHING:>6}{worker.pid:>9}  ",
                    Run(f"{fmt.clean(state):<8}", role),
                    f"{_plain(worker.cpu_share) or fmt.NOTHING:>6}{fmt.percent(worker.cpu_wait_share):>9}"
                    f"{fmt.percent(worker.io_wait_share):>9}{fmt.percent(worker.blocked_share):>9}"
                    f"{fmt.mebibytes(worker.rss_mib):>10}{reads:>14}",
                ),
                width,
            )
        )
    if len(workers) > _WORKERS_SHOWN:
        rows.append(line(Run(f"and {len(workers) - _WORKERS_SHOWN} more", "dim")))
    return rows


_STATES = {"R": "running", "S": "sleeping", "D": "D device", "T": "stopped", "Z": "dead"}


def _plain(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{fmt.number(value)} MiB/s"


def _waits(name: str, pressure: Pressure | None, field: str) -> Figure:
    if pressure is None or pressure.some is None:
        return Figure(name, None, field)
    source = "" if pressure.source == "cgroup" else f" ({pressure.source})"
    return Figure(
        name, f"{fmt.percent(pressure.some)}{source}", "", "warning" if pressure.some >= 0.1 else "text"
    )
