"""Recordings of runs that never were: step times of a known mean, as ranks would have sent them."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from perftui.ipc.messages import Effective, FromRank, Hello, LossSample, StepBatch
from perftui.ipc.recording import Entry
from perftui.ipc.run_files import RunDescription
from perftui.ipc.settings import SettingValue
from perftui.ipc.view import GpuProcess, GpuView, HostView

_FRAME = 50


@dataclass
class MadeRun:
    """What one run was like; times in seconds."""

    run_id: str = "run"
    started: float = 1_000_000.0
    steps: int = 400
    step_s: float = 0.1
    noise: float = 0.01
    host: str = "vm"
    device: str = "cpu"
    gpu_uuid: str | None = None
    ranks: int = 1
    samples: int = 8
    settings: dict[str, SettingValue] = field(default_factory=dict[str, SettingValue])
    command: Sequence[str] = ("python", "train.py")
    others_busy: float | None = 0.0
    torch: str = "2.14.1"
    clock_mhz: float | None = None
    foreign: bool = False
    slow_rank_s: float = 0.0
    seed: int = 1

    def description(self) -> RunDescription:
        return RunDescription(
            run_id=self.run_id,
            name="made",
            command=list(self.command),
            cwd="",
            host=self.host,
            started_unix=self.started,
        )

    def entries(self, pid: int = 7) -> Iterator[Entry]:
        for rank in range(self.ranks):
            yield Entry(unix=self.started, message=self._hello(rank, pid))
            yield Entry(unix=self.started, message=self._effective(rank))
        made = [self._walls(rank) for rank in range(self.ranks)]
        ends = [0.0] * self.ranks
        for first in range(0, self.steps, _FRAME):
            for rank, walls in enumerate(made):
                part = walls[first : first + _FRAME]
                ended = [ends[rank] + sum(part[: at + 1]) for at in range(len(part))]
                ends[rank] = ended[-1]
                yield Entry(unix=self.started + ends[rank], message=self._batch(rank, first, part, ended))
            loss = LossSample(run_id=self.run_id, host=self.host, rank=0, seq=0, step=first, value=1.5)
            yield Entry(unix=self.started + ends[0], message=loss)
            yield self._reading(self.started + ends[0])

    def _walls(self, rank: int) -> list[float]:
        chance = random.Random(self.seed + rank)
        mean = self.step_s + (self.slow_rank_s if rank else 0.0)
        return [mean * (1 + self.noise * chance.gauss(0, 1)) for _ in range(self.steps)]

    def _hello(self, rank: int, pid: int) -> Hello:
        return Hello(
            run_id=self.run_id,
            host=self.host,
            rank=rank,
            seq=0,
            protocol=3,
            pid=pid,
            start_ticks=1,
            local_rank=rank,
            world_size=self.ranks,
            python="3.12.1",
            torch=self.torch,
            device=self.device,
            command=list(self.command),
            wall_offset_ns=int(self.started * 1e9),
            gpu_uuid=self.gpu_uuid,
        )

    def _effective(self, rank: int) -> FromRank:
        return Effective(
            run_id=self.run_id, host=self.host, rank=rank, seq=1, settings=self.settings, failed={}
        )

    def _batch(self, rank: int, first: int, walls: list[float], ended: list[float]) -> FromRank:
        count = len(walls)
        return StepBatch(
            run_id=self.run_id,
            host=self.host,
            rank=rank,
            seq=2,
            first_step=first,
            end_ns=[int(at * 1e9) for at in ended],
            wall_ns=[int(wall * 1e9) for wall in walls],
            wait_ns=[0] * count,
            forward_ns=[0] * count,
            backward_ns=[0] * count,
            optimizer_ns=[0] * count,
            cpu_ns=[-1] * count,
            samples=[self.samples] * count,
            micro_batches=[1] * count,
            epoch=[0] * count,
            flags=[0] * count,
        )

    def _reading(self, unix: float) -> Entry:
        busy = None if self.others_busy is None else 1.0 + self.others_busy
        host = HostView(name=self.host, age_s=0.0, cpus=8.0, cpu_busy=busy, run_busy=1.0)
        gpus: list[GpuView] = []
        if self.gpu_uuid:
            others = [GpuProcess(pid=9)] if self.foreign else []
            gpus = [
                GpuView(
                    uuid=self.gpu_uuid,
                    host=self.host,
                    ranks=[0],
                    age_s=0.0,
                    sm_clock_mhz=self.clock_mhz,
                    foreign_processes=others,
                )
            ]
        return Entry(unix=unix, hosts=[host], gpus=gpus)
