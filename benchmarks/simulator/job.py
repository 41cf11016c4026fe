"""What is to be simulated, as it crosses to the processes that speak for the ranks."""

import time

import msgspec

from benchmarks.simulator.rank import MadeRank, RankPlace
from benchmarks.simulator.scenarios import Pace, Scenario


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A made-up training."""

    run_id: str
    ranks: int
    steps_per_s: float
    scenario: Scenario = "healthy"
    ranks_per_host: int = 8
    gpu: bool = True
    began_ns: int = 0
    """On the clock of all ranks: `perf_counter_ns` of this host in a live run."""
    wall_offset_ns: int = 0

    def rank(self, number: int) -> MadeRank:
        """Return one of its ranks."""
        place = RankPlace(self.run_id, number, self.ranks, self.ranks_per_host, self.gpu)
        pace = Pace(self.scenario, number, self.ranks, 1.0 / self.steps_per_s)
        return MadeRank(place, pace, self.began_ns, self.wall_offset_ns)


def begun(job: Job) -> Job:
    """Return the job on this host's clock, from now on."""
    now_ns = time.perf_counter_ns()
    return msgspec.structs.replace(job, began_ns=now_ns, wall_offset_ns=time.time_ns() - now_ns)
