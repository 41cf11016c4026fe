"""What kind of training is made up: how long each phase of a step of one rank takes. Pure."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

Scenario: TypeAlias = Literal["healthy", "straggler", "slow-loader", "loader-bound", "uneven"]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)
"""healthy: nothing to find. straggler: one rank computes slower. slow-loader: one waits for its loader.
loader-bound: all wait for theirs. uneven: ranks that do not exchange gradients, each with its own pace."""

_SLOW_EVERY = 97
"""Now and then a step takes nearly twice as long: a checkpoint, a collection."""
_LATE_SHARE = 0.35
"""Of a step: how much later than the others the slow rank comes to the exchange of gradients."""


class StepParts(NamedTuple):
    """Phases of one step, in ns; they and what is left of `wall_ns` are the step."""

    wall_ns: int
    wait_ns: int
    forward_ns: int
    backward_ns: int
    optimizer_ns: int
    comm_ns: int
    cpu_ns: int


@dataclass(frozen=True)
class Pace:
    """How one rank of a scenario steps."""

    scenario: Scenario
    rank: int
    world_size: int
    step_s: float
    """Of the whole job; of an uneven one the mean over its ranks."""

    @property
    def slow(self) -> bool:
        """Whether this is the rank that holds all others up."""
        return self.scenario in ("straggler", "slow-loader") and self.rank == self.world_size // 3

    @property
    def own_step_s(self) -> float:
        """How long its steps are."""
        if self.scenario != "uneven":
            return self.step_s
        return self.step_s * (0.7 + 0.6 * _drawn(self.rank, 0))

    def parts(self, step: int) -> StepParts:
        """Return the phases of a step: the same for the same rank and step.

        Ranks that exchange gradients end each step together; whoever is early waits in its backward.
        """
        luck = _drawn(step, self.rank + 1)
        wall = self.own_step_s * (1.0 + 0.02 * _drawn(step, 0)) * 1e9
        if step % _SLOW_EVERY == _SLOW_EVERY - 1:
            wall *= 1.8
        wait = wall * (0.6 if self.scenario == "loader-bound" else 0.01) * (0.9 + 0.2 * luck)
        late = wall * _LATE_SHARE * (0.95 + 0.1 * luck)
        wait += late if self.slow and self.scenario == "slow-loader" else 0.0
        forward = (wall - wait) * 0.24 * (0.97 + 0.06 * _drawn(self.rank + 1, step))
        forward += late if self.slow and self.scenario == "straggler" else 0.0
        optimizer = wall * 0.03
        other = wall * 0.01
        backward = max(0.1 * wall, wall - wait - forward - optimizer - other)
        comm = 0.0 if self.world_size == 1 or self.scenario == "uneven" else 0.2 * backward
        if self.scenario in ("straggler", "slow-loader") and not self.slow:
            comm += late
        cpu = wall - 0.8 * wait
        return StepParts(*(int(ns) for ns in (wall, wait, forward, backward, optimizer, comm, cpu)))


def _drawn(one: int, other: int) -> float:
    """Return a number from 0 to 1 that looks drawn by chance: some hundred times cheaper than a generator."""
    mixed = (one * 2_654_435_761 + other * 40_503 + 1) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 15)) * 2_246_822_519) & 0xFFFFFFFF
    return ((mixed ^ (mixed >> 13)) & 0xFFFFFF) / 0x1000000
