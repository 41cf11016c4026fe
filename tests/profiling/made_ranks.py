"""Traces of several ranks, of which some come late to their collectives."""

from collections.abc import Sequence
from pathlib import Path

from tests.profiling.trace_maker import TraceMaker


def made_ranks(late_us: Sequence[int], folder: Path, *, sequence: bool, lost_head: int = 0) -> list[Path]:
    """Write a trace a rank: 20 collectives of 5 µs, to which each rank comes late by so many µs."""
    paths: list[Path] = []
    latest = max(late_us)
    for rank, late in enumerate(late_us):
        maker = TraceMaker(head={"distributedInfo": {"rank": rank, "world_size": len(late_us)}})
        maker.now_ns += rank * 777_000  # no clock in common
        maker.step()
        for number in range(20):
            maker.compute(100_000 + late * 1000)
            args: dict[str, object] = {"Collective name": "allreduce", "Process Group Name": "dp"}
            args |= {"In msg nelems": 1 << 18, "dtype": "Float", "Process Group Ranks": "[0, 1, 2]"}
            if sequence:
                args["Seq"] = number
            if number >= lost_head * (rank == 1):
                maker.communicate(5000 + (latest - late) * 1000, **args)
        paths.append(maker.write(folder / f"trace_{rank}.json"))
    return paths
