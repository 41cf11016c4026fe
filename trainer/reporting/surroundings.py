"""The parts of a report on the host, the GPUs, what perftui costs, and what it lost. Pure."""

from collections.abc import Iterator

from perftui.ipc.figures import stands_out
from perftui.ipc.summary import Overhead, Summary
from perftui.ipc.view import GpuView, HostView, Pressure
from perftui.trainer.reporting.blocks import Block, Heading, Items, Paragraph, Table, pairs, percent_or_never
from perftui.trainer.text_table import NEVER, number


def surroundings(summary: Summary) -> Iterator[Block]:
    """Yield the host over the training, and its GPUs."""
    yield Heading(2, "Host and GPUs")
    if summary.host_mean is None:
        yield Paragraph("The host was not read while the run trained.", quiet=True)
    else:
        yield pairs(_host_rows(summary.host_mean))
    if summary.gpus:
        yield Table(
            (
                "GPU",
                "ranks",
                "SM active",
                "tensor",
                "DRAM",
                "memory MiB",
                "W",
                "SM MHz",
                "held down",
                "J/step",
            ),
            tuple(_gpu_row(gpu) for gpu in summary.gpus),
            frozenset(range(2, 8)) | {9},
        )
    elif summary.host.gpu_note:
        yield Paragraph(f"No GPU figures: {summary.host.gpu_note}", quiet=True)


def _host_rows(host: HostView) -> list[tuple[str, str]]:
    return [
        ("Cores busy with this run, mean", number(host.run_busy)),
        ("Cores busy with other work, mean", number(host.others_busy)),
        ("Usable cores", number(host.cpus, "g")),
        ("Held back by a CPU quota", percent_or_never(host.throttled_share)),
        ("Waiting for CPU", _pressure(host.pressure_cpu)),
        ("Waiting for disks", _pressure(host.pressure_io)),
        ("Waiting for memory", _pressure(host.pressure_memory)),
        ("Reads answered by the page cache", percent_or_never(host.cached_read_share)),
    ]


def _pressure(pressure: Pressure | None) -> str:
    if pressure is None or pressure.some is None:
        return NEVER
    return f"{percent_or_never(pressure.some)} of the time ({pressure.source})"


def _gpu_row(gpu: GpuView) -> tuple[str, ...]:
    held = gpu.throttled_share
    kinds = (
        NEVER
        if held is None
        else ", ".join(f"{kind} {percent_or_never(part)}" for kind, part in held.items() if part)
    )
    return (
        f"{gpu.name or 'GPU'} ({gpu.uuid})",
        ", ".join(map(str, gpu.ranks)),
        percent_or_never(gpu.sm_active_share),
        percent_or_never(gpu.tensor_active_share),
        percent_or_never(gpu.dram_active_share),
        number(gpu.memory_used_mib, ".0f"),
        number(gpu.power_w, ".0f"),
        number(gpu.sm_clock_mhz, ".0f"),
        kinds or "no",
        number(gpu.energy_j_per_step, ".3g"),
    )


def own_cost(summary: Summary) -> Iterator[Block]:
    """Yield what perftui cost the training, and what of it was lost."""
    yield Heading(2, "What perftui cost")
    yield Paragraph(cost_words(summary.overhead))
    lost = [
        f"rank {rank.rank}: {rank.dropped} steps dropped, {rank.lost_frames} frames lost, "
        f"{rank.probe_errors} errors of the probe"
        for rank in summary.ranks
        if rank.dropped or rank.lost_frames or rank.probe_errors
    ]
    lost += [
        f"host {link.host}: its hub dropped {link.dropped} entries while the lead was away or slow"
        for link in summary.links
        if link.dropped
    ]
    if summary.recording_failed_entries:
        lost.append(f"{summary.recording_failed_entries} entries of the recording refused by the disk")
    yield Items(tuple(lost)) if lost else Paragraph("Nothing was lost.", quiet=True)


def cost_words(overhead: Overhead) -> str:
    """Return the cost with its standard error where steps without the hooks were compared."""
    parts: list[str] = []
    if overhead.shadow_cpu_us is not None and overhead.shadow_cpu_se_us is not None:
        told = f"{overhead.shadow_cpu_us:.0f} ± {overhead.shadow_cpu_se_us:.0f} µs"
        if not stands_out(overhead.shadow_cpu_us, overhead.shadow_cpu_se_us):
            told = f"too little to measure here, within ±{overhead.shadow_cpu_se_us:.0f} µs,"
        parts.append(
            f"{told} of the training thread's CPU time a step, against {overhead.shadow_steps} steps through "
            "which the hooks slept"
        )
    if overhead.us_per_step is not None:
        share = "" if overhead.share is None else f" ({100 * overhead.share:.2g} % of the step)"
        parts.append(f"{overhead.us_per_step:.0f} µs a step in hooks{share}")
    if overhead.background_us_per_step is not None:
        parts.append(f"{overhead.background_us_per_step:.0f} µs CPU time a step in the probe's own thread")
    return "; ".join(parts) + "." if parts else "Not measured: too few steps."
