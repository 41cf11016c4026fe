"""A run as its recording tells it: steps of all ranks, what was in force, who else was at work. No files.

Apart from `collector.py` because a recording has every step and no hub that thins them.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Literal

from perftui.ipc.facts import RankFacts, merged
from perftui.ipc.messages import Effective, Facts, Hello, LossSample, StepBatch
from perftui.ipc.recording import Entry
from perftui.ipc.run_files import RunDescription
from perftui.ipc.settings import Settings
from perftui.ipc.view import GpuView, HostView
from perftui.trainer.tuning.collector import slowest_s


@dataclass
class RecordedRank:
    """One rank's newest attempt."""

    hello: Hello
    walls: dict[int, tuple[float, int]] = field(default_factory=dict[int, tuple[float, int]])
    """Wall milliseconds and flags by step."""
    samples: dict[int, int] = field(default_factory=dict[int, int])
    tokens: dict[int, int] = field(default_factory=dict[int, int])
    ended_unix: dict[int, float] = field(default_factory=dict[int, float])
    losses: dict[int, float] = field(default_factory=dict[int, float])
    settings: Settings = field(default_factory=dict)
    device: str = "unknown"
    gpu_uuid: str | None = None
    facts: RankFacts = field(default_factory=RankFacts)

    def add(self, batch: StepBatch) -> None:
        """Take steps."""
        steps = range(batch.first_step, batch.first_step + len(batch.wall_ns))
        for step, wall_ns, flags, end_ns in zip(
            steps, batch.wall_ns, batch.flags, batch.end_ns, strict=False
        ):
            self.walls[step] = (wall_ns / 1e6, flags)
            self.ended_unix[step] = (end_ns + self.hello.wall_offset_ns) / 1e9
        self.samples.update(zip(steps, batch.samples, strict=False))
        self.tokens.update(zip(steps, batch.tokens, strict=False))


@dataclass
class RecordedRun:
    """A run, folded from its recording."""

    description: RunDescription
    ranks: dict[int, RecordedRank] = field(default_factory=dict[int, RecordedRank])
    restarts: int = 0
    hosts: list[tuple[float, HostView]] = field(default_factory=list[tuple[float, HostView]])
    """Readings of the first host, with their times."""
    gpus: list[tuple[float, GpuView]] = field(default_factory=list[tuple[float, GpuView]])
    commit: str | None = None

    def take(self, entry: Entry) -> None:
        """Fold one entry."""
        first = self.hosts[0][1].name if self.hosts else None
        self.hosts += [(entry.unix, view) for view in entry.hosts[:1] if first in (None, view.name)]
        self.gpus += [(entry.unix, view) for view in entry.gpus]
        message = entry.message
        if message is None:
            return
        rank = self.ranks.get(message.rank)
        if isinstance(message, Hello):
            if rank is None or rank.hello.process != message.process:
                self.restarts += rank is not None
                self.ranks[message.rank] = RecordedRank(
                    message, device=message.device, gpu_uuid=message.gpu_uuid
                )
        elif rank is not None:
            _take(rank, message)

    @property
    def lead(self) -> RecordedRank | None:
        """The lowest rank."""
        return self.ranks[min(self.ranks)] if self.ranks else None

    @property
    def host_names(self) -> set[str]:
        """Where its ranks ran."""
        return {rank.hello.host for rank in self.ranks.values()} or {self.description.host}

    @property
    def gpu_uuids(self) -> list[str]:
        """The GPUs that its ranks used, as far as they are known."""
        return sorted({rank.gpu_uuid for rank in self.ranks.values() if rank.gpu_uuid})

    @property
    def devices(self) -> list[str]:
        """Kinds of device: cpu, cuda."""
        return sorted({rank.device.partition(":")[0] for rank in self.ranks.values()})

    @property
    def num_workers(self) -> int:
        """Most loader workers that a rank reports."""
        told = [rank.settings.get("loader.num_workers") for rank in self.ranks.values()]
        return max((value for value in told if isinstance(value, int)), default=0)

    @property
    def in_force(self) -> Settings:
        """Settings as read back, over the ones that were asked for."""
        return {**self.description.settings, **(self.lead.settings if self.lead else {})}

    def steps(self) -> set[int]:
        """Return the steps that the recording has of all ranks."""
        columns = [rank.walls.keys() for rank in self.ranks.values()]
        return set(columns[0]).intersection(*columns[1:]) if columns else set()

    def steps_s(self, steps: Set[int]) -> list[float]:
        """Return seconds per step, of the slowest rank and without unusual ones, of some of its steps."""
        columns = [
            {step: cell for step, cell in rank.walls.items() if step in steps} for rank in self.ranks.values()
        ]
        return slowest_s(columns) if columns else []

    def per_step(self, what: Literal["samples", "tokens"], steps: Set[int]) -> float | None:
        """Return samples or tokens of a step over all ranks, mean over some steps; None: not known."""
        total = 0.0
        for rank in self.ranks.values():
            counts = rank.samples if what == "samples" else rank.tokens
            known = [count for step, count in counts.items() if step in steps]
            if not known or min(known) < 0:
                return None
            total += sum(known) / len(known)
        return total or None

    def span(self, steps: Set[int]) -> tuple[float, float] | None:
        """Return when the first and the last of some steps ended; None without them."""
        ends = [at for rank in self.ranks.values() for step, at in rank.ended_unix.items() if step in steps]
        return (min(ends), max(ends)) if ends else None

    def losses(self) -> dict[int, float]:
        """Return the losses of the lowest rank by step."""
        return self.lead.losses if self.lead else {}


def _take(rank: RecordedRank, message: object) -> None:
    if isinstance(message, StepBatch):
        rank.add(message)
    elif isinstance(message, LossSample):
        rank.losses[message.step] = message.value
    elif isinstance(message, Facts):
        rank.facts = merged(rank.facts, message.facts)
    elif isinstance(message, Effective):
        rank.settings = message.settings
        rank.device = message.device or rank.device
        rank.gpu_uuid = message.gpu_uuid or rank.gpu_uuid


def recorded_run(description: RunDescription, entries: Iterable[Entry], commit: str | None) -> RecordedRun:
    """Fold a recording."""
    run = RecordedRun(description, commit=commit)
    for entry in entries:
        run.take(entry)
    return run
