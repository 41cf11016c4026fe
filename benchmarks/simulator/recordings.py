"""Recordings of made-up trainings, as a hub writes them: `perftui replay FOLDER` opens them."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.simulator.job import Job
from benchmarks.simulator.rank import FRAME_S
from perftui.ipc.recording import Entry, RecordingWriter
from perftui.ipc.run_files import RunDescription, write_record
from perftui.ipc.view import GpuView, HostView

_BUDGET_BYTES = 1024 * 1024 * 1024
_MEMORY_MIB = 143_771.0


def entries_of(job: Job, seconds: float) -> Iterator[Entry]:
    """Yield what a hub would have recorded: the ranks' messages, and each second all sensors."""
    ranks = [job.rank(number) for number in range(job.ranks)]
    began_s = (job.began_ns + job.wall_offset_ns) / 1e9
    for rank in ranks:
        for message in rank.greeting():
            yield Entry(unix=began_s, message=message)
    for turn in range(1, round(seconds / FRAME_S) + 1):
        passed = turn * FRAME_S
        now_ns = job.began_ns + int(passed * 1e9)
        for rank in ranks:
            for message in rank.until(now_ns):
                yield Entry(unix=began_s + passed, message=message)
        if turn % round(1.0 / FRAME_S) == 0:
            yield Entry(unix=began_s + passed, hosts=_hosts(job, turn), gpus=_gpus(job, turn))


def _hosts(job: Job, turn: int) -> list[HostView]:
    count = -(-job.ranks // job.ranks_per_host)
    return [
        HostView(
            name=f"node{number:03}",
            age_s=0.0,
            cpus=96.0,
            cpu_busy=38.0 + (turn + number) % 9,
            run_busy=36.0 + (turn + number) % 8,
            memory_used_mib=210_000.0,
            memory_total_mib=1_048_576.0,
            shm_free_mib=500_000.0,
            load_1m=41.0,
        )
        for number in range(count)
    ]


def _gpus(job: Job, turn: int) -> list[GpuView]:
    if not job.gpu:
        return []
    return [
        GpuView(
            uuid=f"GPU-{rank:08x}",
            host=f"node{rank // job.ranks_per_host:03}",
            ranks=[rank],
            age_s=0.1,
            name="NVIDIA H200",
            utilisation_share=0.9 + (rank * 7 + turn) % 10 / 100,
            sm_active_share=0.6 + (rank * 3 + turn) % 20 / 100,
            memory_used_mib=24_900.0 + rank % 13,
            memory_total_mib=_MEMORY_MIB,
            power_w=580.0 + (rank + turn) % 60,
            power_limit_w=700.0,
            temperature_c=56.0 + rank % 9,
            sm_clock_mhz=1_980.0,
            window_s=2.0,
            window_steps=10,
        )
        for rank in range(job.ranks)
    ]


def write_recording(job: Job, folder: Path, seconds: float) -> int:
    """Write a run's folder with a recording of so many seconds that ends now; return its bytes.

    Raises:
        FileExistsError: there is something at `folder`.
    """
    (folder / "recording").mkdir(parents=True)
    ends_unix = time.time()
    began_ns = int((ends_unix - seconds) * 1e9)
    job = msgspec.structs.replace(job, began_ns=began_ns, wall_offset_ns=0)
    description = RunDescription(
        run_id=job.run_id,
        name=f"simulated-{job.ranks}",
        command=["python", "train.py"],
        cwd=str(folder),
        host="node000",
        started_unix=began_ns / 1e9,
        owned=False,
    )
    write_record(folder / "run.json", description)
    writer = RecordingWriter(folder / "recording", _BUDGET_BYTES)
    try:
        for entry in entries_of(job, seconds):
            writer.append(entry)
    finally:
        writer.close()
    if writer.failure is not None:
        raise OSError(writer.failure)
    return sum(path.stat().st_size for path in (folder / "recording").iterdir())
