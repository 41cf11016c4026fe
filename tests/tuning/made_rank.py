"""A rank that speaks the protocol by itself, for trainings with made-up step times."""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

from perftui.ipc.messages import (
    PROTOCOL_VERSION,
    Effective,
    Hello,
    LoaderFacts,
    LossSample,
    StepBatch,
    Welcome,
)
from perftui.ipc.rank_link import RankLink
from perftui.trainer.telemetry.processes import start_ticks

BATCH = 20
EVERY_S = 0.05


class MadeRank:
    """Rank 0 of the run that the environment names."""

    def __init__(self) -> None:
        self._applied = json.loads((Path(os.environ["PERFTUI_RUN_STATE"]) / "settings.json").read_text())
        self._seq = 0
        self.workers: int = self._applied["settings"].get("loader.num_workers", 0)

    def begin(
        self, in_force: dict[str, object], failed: dict[str, str], loader: LoaderFacts | None = None
    ) -> None:
        """Say hello, wait for the hub's welcome, and tell what is in force."""
        self._link = RankLink(f"ipc://{os.environ['PERFTUI_RUN_RUNTIME']}/ranks.sock", f"rank0-{os.getpid()}")
        hello = Hello(
            **self._common(),  # type: ignore[arg-type]
            protocol=PROTOCOL_VERSION,
            pid=os.getpid(),
            start_ticks=start_ticks(os.getpid()) or 0,
            local_rank=0,
            world_size=1,
            python="3",
            torch="none",
            device="cpu",
            command=sys.argv,
            wall_offset_ns=time.time_ns() - time.perf_counter_ns(),
            trial=bool(self._applied["trial"]),
        )
        self._link.send(hello)
        while not any(isinstance(message, Welcome) for message in self._link.receive()):
            self._link.wait(100)
        self._link.send(
            Effective(**self._common(), settings=in_force, failed=failed, loader=loader, device="cpu")  # type: ignore[arg-type]
        )

    def train(
        self, wall_ms: float, wait_ms: float, until: int | None = None, *, restless: bool = False
    ) -> None:
        """Tell of steps of that length, twenty at a time, up to a step or until a signal ends the process.

        Restless: every other twenty are three times as long.
        """
        first = 0
        while until is None or first < until:
            self._link.send(
                self._steps(first, wall_ms * (3 if restless and first // BATCH % 2 else 1), wait_ms)
            )
            first += BATCH
            self._link.send(LossSample(**self._common(), step=first - 10, value=1.0 / first))  # type: ignore[arg-type]
            time.sleep(EVERY_S)

    def _steps(self, first: int, wall_ms: float, wait_ms: float) -> StepBatch:
        walls = [int(1e6 * (wall_ms + 0.01 * ((first + index) * 7 % 11))) for index in range(BATCH)]
        compute_ns = int(1e6 * (wall_ms - wait_ms))
        return StepBatch(
            **self._common(),  # type: ignore[arg-type]
            first_step=first,
            end_ns=[time.perf_counter_ns()] * BATCH,
            wall_ns=walls,
            wait_ns=[int(1e6 * wait_ms)] * BATCH,
            forward_ns=[compute_ns // 3] * BATCH,
            backward_ns=[compute_ns // 2] * BATCH,
            optimizer_ns=[compute_ns // 20] * BATCH,
            cpu_ns=[int(0.9e6 * wall_ms)] * BATCH,
            samples=[8] * BATCH,
            micro_batches=[1] * BATCH,
            epoch=[0] * BATCH,
            flags=[0] * BATCH,
        )

    def _common(self) -> dict[str, object]:
        self._seq += 1
        return {
            "run_id": os.environ["PERFTUI_RUN_ID"],
            "host": socket.gethostname(),
            "rank": 0,
            "seq": self._seq - 1,
        }


def end_on_request() -> None:
    """Let SIGTERM end the process in good order."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
