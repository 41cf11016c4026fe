"""What a script measured by its own clock, and what perftui recorded of the same run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from perftui.ipc.messages import FromRank, RankEvent, StepBatch


class Step(NamedTuple):
    """One recorded step; times in ns."""

    step: int
    end_ns: int
    wall_ns: int
    wait_ns: int
    forward_ns: int
    backward_ns: int
    optimizer_ns: int
    samples: int
    micro_batches: int
    epoch: int
    flags: int


class Span(NamedTuple):
    """A stretch of the script's own clock, in ns."""

    begin: int
    end: int
    steps: int = 0
    """How many steps the script had counted by then."""

    @property
    def ns(self) -> int:
        return self.end - self.begin

    def holds(self, moment: int) -> bool:
        return self.begin <= moment <= self.end


@dataclass(frozen=True)
class Own:
    """The clock of one rank's script; spans and stamps in the order in which they happened."""

    begin: int
    fetches: list[Span]
    """Of the training's data set: from the first sample to the collated batch; `steps` holds the samples."""
    validation_fetches: list[Span]
    nexts: list[Span]
    """Round `iter` and `next` of the training's loader, where the script or its framework lets us there."""
    forwards: list[Span]
    backwards: list[Span]
    steps: list[int]
    """One stamp after each optimizer step."""
    epochs: list[int]
    validations: list[Span]
    saves: list[Span]
    workers: int
    """Most child processes that the script had at any step."""

    def per_step(self, spans: Sequence[Span]) -> list[int]:
        """Return how much of the spans lies before each step's stamp and after the last one's."""
        edges = [self.begin, *self.steps]
        return [
            sum(span.ns for span in spans if after < span.begin <= before)
            for after, before in pairwise(edges)
        ]

    def next_batch_after(self, moment: int) -> int | None:
        """Return by when the next batch, or else the loader's end, was asked for; None if none was."""
        fetches = [fetch.begin for fetch in (*self.fetches, *self.validation_fetches)]
        ends = [span.end for span in self.nexts if span.begin >= moment]
        return min((begin for begin in fetches if begin >= moment), default=min(ends, default=None))

    def epoch_of(self, moment: int) -> int:
        return sum(begin <= moment for begin in self.epochs) - 1


def read_own(path: Path) -> Own:
    told: dict[str, list[Any]] = json.loads(path.read_text())
    of_kind: dict[str, list[Span]] = {"training": [], "validation": []}
    for kind, begin, end, samples in told["fetches"]:
        of_kind[kind].append(Span(begin, end, samples))
    spans = {name: [Span(*span) for span in told[name]] for name in _SPANS}
    return Own(
        begin=told["begin"][0],
        fetches=of_kind["training"],
        validation_fetches=of_kind["validation"],
        steps=told["steps"],
        epochs=told["epochs"],
        workers=max(told["workers"], default=0),
        **spans,
    )


_SPANS = ("nexts", "forwards", "backwards", "validations", "saves")


@dataclass(frozen=True)
class Seen:
    """One run under `perftui run --no-tui --json`."""

    summary: dict[str, Any]
    messages: list[FromRank]
    owns: dict[int, Own]
    """By rank."""

    def batches(self, rank: int = 0) -> list[StepBatch]:
        return [one for one in self.messages if isinstance(one, StepBatch) and one.rank == rank]

    def steps(self, rank: int = 0) -> list[Step]:
        rows: list[Step] = []
        for batch in self.batches(rank):
            numbers = range(batch.first_step, batch.first_step + len(batch.end_ns))
            columns = [getattr(batch, name) for name in Step._fields[1:]]
            rows += [Step(*row) for row in zip(numbers, *columns, strict=True)]
        return rows

    def events(self, kind: str, rank: int = 0) -> list[RankEvent]:
        return [m for m in self.messages if isinstance(m, RankEvent) and (m.event, m.rank) == (kind, rank)]

    def rank(self, rank: int = 0) -> dict[str, Any]:
        (found,) = (one for one in self.summary["ranks"] if one["rank"] == rank)
        return dict(found)
