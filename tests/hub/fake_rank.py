"""The rank's side of the wire, spoken by a test over the real link."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

from perftui.ipc.facts import RankFacts
from perftui.ipc.messages import (
    PROTOCOL_VERSION,
    Effective,
    EventKind,
    Facts,
    FromRank,
    Goodbye,
    Hello,
    RankEvent,
    StepBatch,
    WindowReport,
    WindowState,
)
from perftui.ipc.places import RunPlaces
from perftui.ipc.rank_link import RankLink, rank_identity
from perftui.trainer.telemetry.processes import start_ticks
from tests.made_loader import made_loader

DEADLINE_S = 20.0
WALL_NS = 20_000_000
EVENTS_PER_STEP = 60_000
_Order = TypeVar("_Order")


def own_start_ticks() -> int:
    """When this process started, so that the hub takes it for a living rank."""
    ticks = start_ticks(os.getpid())
    assert ticks is not None
    return ticks


class FakeRank:
    """Speaks the rank's side over the real link; the process it names is this one."""

    def __init__(
        self, places: RunPlaces, rank: int = 0, world_size: int = 1, process: tuple[int, int] | None = None
    ) -> None:
        process = process or (os.getpid(), own_start_ticks())
        self._places = places
        self._rank = rank
        self._world_size = world_size
        self._seq = 0
        self._steps = 0
        self._process = process
        self.hub_is_away = False
        """What is said stays in the link's queue: nothing waits for it to be taken."""
        self.link = RankLink(places.rank_socket, rank_identity(rank, process[0]))

    def _say(self, message: FromRank) -> None:
        assert self.link.send(message)
        assert self.hub_is_away or self.link.drain(DEADLINE_S), "no hub takes it"

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq - 1

    def hello(self) -> None:
        self._say(
            Hello(
                run_id=self._places.run_id,
                host="h",
                rank=self._rank,
                seq=self._next_seq(),
                protocol=PROTOCOL_VERSION,
                pid=self._process[0],
                start_ticks=self._process[1],
                local_rank=self._rank,
                world_size=self._world_size,
                python="3",
                torch="2",
                device="cpu",
                command=["python"],
                wall_offset_ns=time.time_ns() - time.perf_counter_ns(),
            )
        )

    def loader(self, workers: int) -> None:
        told = Effective(
            run_id=self._places.run_id,
            host="h",
            rank=self._rank,
            seq=self._next_seq(),
            settings={"loader.num_workers": workers},
            failed={},
            loader=made_loader(num_workers=workers),
        )
        self._say(told)

    def gpu(self, uuid: str) -> None:
        told = Effective(
            run_id=self._places.run_id,
            host="h",
            rank=self._rank,
            seq=self._next_seq(),
            settings={},
            failed={},
            device="cuda:0",
            gpu_uuid=uuid,
        )
        self._say(told)

    def steps(
        self, count: int, wait_share: float = 0.7, ends_ns: list[int] | None = None, wall_ns: int = WALL_NS
    ) -> None:
        def column(value: int) -> list[int]:
            return [value] * count

        self._say(
            StepBatch(
                run_id=self._places.run_id,
                host="h",
                rank=self._rank,
                seq=self._next_seq(),
                first_step=self._steps,
                end_ns=ends_ns or column(time.perf_counter_ns()),
                wall_ns=column(wall_ns),
                wait_ns=column(int(wall_ns * wait_share)),
                forward_ns=column(WALL_NS // 20),
                backward_ns=column(WALL_NS // 10),
                optimizer_ns=column(WALL_NS // 100),
                cpu_ns=column(WALL_NS),
                samples=column(8),
                micro_batches=column(1),
                epoch=column(0),
                flags=column(0),
            )
        )
        self._steps += count

    def facts(self, facts: RankFacts) -> None:
        self._say(
            Facts(
                run_id=self._places.run_id,
                host="h",
                rank=self._rank,
                seq=self._next_seq(),
                at_ns=time.perf_counter_ns(),
                facts=facts,
            )
        )

    def event(self, kind: EventKind, step: int, text: str) -> None:
        self._say(
            RankEvent(
                run_id=self._places.run_id,
                host="h",
                rank=self._rank,
                seq=self._next_seq(),
                at_ns=time.perf_counter_ns(),
                event=kind,
                text=text,
                step=step,
            )
        )

    def window(
        self, window_id: str, state: WindowState, reason: str | None = None, path: str | None = None
    ) -> None:
        self._say(
            WindowReport(
                run_id=self._places.run_id,
                host="h",
                rank=self._rank,
                seq=self._next_seq(),
                window_id=window_id,
                state=state,
                reason=reason,
                start_step=self._steps,
                steps=3,
                path=path,
                cost_ms={"start": 0.1, "stall": 2.5},
                events=3 * EVENTS_PER_STEP if path else 0,
            )
        )

    def order(self, kind: type[_Order], speak: Callable[[], None] | None = None) -> _Order:
        """Wait for what the hub orders, speaking meanwhile."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            for message in self.link.receive():
                if isinstance(message, kind):
                    return message
            assert time.monotonic() < deadline, f"no {kind.__name__}"
            if speak is not None:
                speak()
            self.link.wait(200)

    def goodbye(self) -> None:
        self._say(
            Goodbye(
                run_id=self._places.run_id,
                host="h",
                rank=self._rank,
                seq=self._next_seq(),
                reason="exit",
                dropped=0,
                errors=0,
            )
        )

    def hear(self, kind: type[object], speak: Callable[[], None] | None = None) -> None:
        """Wait until the hub says this, speaking meanwhile."""
        deadline = time.monotonic() + DEADLINE_S
        while not any(isinstance(message, kind) for message in self.link.receive()):
            assert time.monotonic() < deadline, f"no {kind.__name__}"
            if speak is not None:
                speak()
            self.link.wait(200)
