"""Ranks of one host as a process: they say hello and step until told to end. `RUN_ID FIRST COUNT WORLD`"""

import os
import secrets
import sys
import time
from pathlib import Path

from perftui.ipc.messages import (
    PROTOCOL_VERSION,
    ArmWindow,
    AskHello,
    Goodbye,
    Hello,
    StepBatch,
    WindowReport,
)
from perftui.ipc.places import run_places
from perftui.ipc.rank_link import RankLink, rank_identity

WALL_NS = 20_000_000
PASSWORD = "correct-horse-battery-staple"
"""Stands in the command line that each rank tells: seen nowhere but in the hubs."""


class _Rank:
    def __init__(self, run_id: str, rank: int, local: int, world: int) -> None:
        self.rank, self.local, self.world, self.run_id = rank, local, world, run_id
        self.seq = self.steps = 0
        self.link = RankLink(run_places(run_id).rank_socket, rank_identity(rank, os.getpid()))
        self.pid = os.getpid()

    def stamp(self) -> dict[str, object]:
        self.seq += 1
        return {"run_id": self.run_id, "host": os.uname().nodename, "rank": self.rank, "seq": self.seq - 1}

    def hello(self) -> None:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        self.link.send(
            Hello(
                **self.stamp(),  # type: ignore[arg-type]
                protocol=PROTOCOL_VERSION,
                pid=self.pid,
                start_ticks=ticks,
                local_rank=self.local,
                world_size=self.world,
                python="3",
                torch="2",
                device="cpu",
                command=["train.py", "--password", PASSWORD],
                wall_offset_ns=time.time_ns() - time.perf_counter_ns(),
            )
        )

    def step(self, count: int) -> None:
        column = [0] * count
        self.link.send(
            StepBatch(
                **self.stamp(),  # type: ignore[arg-type]
                first_step=self.steps,
                end_ns=[time.perf_counter_ns()] * count,
                wall_ns=[WALL_NS] * count,
                wait_ns=[WALL_NS // 2] * count,
                forward_ns=column,
                backward_ns=[WALL_NS // 4] * count,
                optimizer_ns=column,
                cpu_ns=[WALL_NS] * count,
                samples=[8] * count,
                micro_batches=[1] * count,
                epoch=column,
                flags=column,
            )
        )
        self.steps += count

    def obey(self, trace: bytes) -> None:
        for order in self.link.receive():
            if isinstance(order, AskHello):
                self.hello()
            elif isinstance(order, ArmWindow):
                self.window(order, trace)

    def window(self, order: ArmWindow, trace: bytes) -> None:
        name = f"{order.window_id}.rank{self.rank}.json"
        (Path(order.directory) / name).write_bytes(trace)
        for state in ("armed", "recording", "saving", "done"):
            done = state == "done"
            self.link.send(
                WindowReport(
                    **self.stamp(),  # type: ignore[arg-type]
                    window_id=order.window_id,
                    state=state,
                    start_step=order.start_step,
                    steps=order.steps,
                    path=name if done else None,
                    cost_ms={"start": 1.0, "stall": 2.0},
                    events=10 if done else 0,
                )
            )

    def goodbye(self) -> None:
        self.link.send(Goodbye(**self.stamp(), reason="exit", dropped=0, errors=0))  # type: ignore[arg-type]
        self.link.flush(0.5)


def _live(run_id: str, rank: int, local: int, world: int, trace: bytes) -> None:
    spoken = _Rank(run_id, rank, local, world)
    spoken.hello()
    end = run_places(run_id).state / "enough"
    while not end.exists():
        spoken.step(5)
        spoken.obey(trace)
        time.sleep(0.1)
    spoken.goodbye()


def main() -> None:
    run_id, first, count, world = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    trace = Path(sys.argv[5]).read_bytes() if len(sys.argv) > 5 else secrets.token_bytes(16)
    for local in range(1, count):
        if os.fork() == 0:
            _live(run_id, first + local, local, world, trace)
            os._exit(0)
    _live(run_id, first, 0, world, trace)
    for _ in range(1, count):
        os.wait()


if __name__ == "__main__":
    main()
