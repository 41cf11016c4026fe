"""A training that speaks the protocol by itself and says that its loader starves it, with made-up step times.

So what a search finds does not hang on how busy this machine is. Half of its 40 ms are waiting for a loader
without workers; workers end that. `crash`: it dies with workers. `slow`: workers make it slower. `fails`: it
dies before its first step. It writes one line into `launches.txt` beside it for each of its starts.
"""

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


def step_ms(mode: str, workers: int) -> tuple[float, float]:
    """Return a step and the wait in it."""
    if workers == 0:
        return 40.0, 20.0
    return (80.0, 0.4) if mode == "slow" else (20.0, 0.1)


def batch(common: dict[str, object], first: int, wall_ms: float, wait_ms: float) -> StepBatch:
    walls = [int(1e6 * (wall_ms + 0.01 * ((first + index) * 7 % 11))) for index in range(BATCH)]
    compute_ns = int(1e6 * (wall_ms - wait_ms))
    return StepBatch(
        **common,  # type: ignore[arg-type]
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


def loader(workers: int) -> LoaderFacts:
    return LoaderFacts(
        index=0,
        num_workers=workers,
        batch_size=8,
        prefetch_factor=2 if workers else None,
        persistent_workers=False,
        pin_memory=False,
        multiprocessing_context=None,
        in_order=True,
        batches_per_epoch=1_000_000,
        iterable=False,
        dataset="Made",
    )


def stop(_number: int, _frame: object) -> None:
    sys.exit(0)


def main() -> None:
    signal.signal(signal.SIGTERM, stop)
    mode = sys.argv[1] if len(sys.argv) > 1 else "plain"
    applied = json.loads((Path(os.environ["PERFTUI_RUN_STATE"]) / "settings.json").read_text())
    workers = applied["settings"].get("loader.num_workers", 0)
    with Path("launches.txt").open("a") as log:
        log.write(f"{workers}\n")
    if mode == "fails" or (mode == "crash" and workers):
        sys.exit("RuntimeError: no workers, please")
    link = RankLink(f"ipc://{os.environ['PERFTUI_RUN_RUNTIME']}/ranks.sock", f"rank0-{os.getpid()}")
    seq = 0

    def common() -> dict[str, object]:
        nonlocal seq
        seq += 1
        return {
            "run_id": os.environ["PERFTUI_RUN_ID"],
            "host": socket.gethostname(),
            "rank": 0,
            "seq": seq - 1,
        }

    hello = Hello(
        **common(),  # type: ignore[arg-type]
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
        trial=bool(applied["trial"]),
    )
    link.send(hello)
    while not any(isinstance(message, Welcome) for message in link.receive()):
        link.wait(100)
    in_force = {"loader.num_workers": workers, "loader.prefetch_factor": 2}
    link.send(Effective(**common(), settings=in_force, failed={}, loader=loader(workers), device="cpu"))  # type: ignore[arg-type]
    first = 0
    while True:
        link.send(batch(common(), first, *step_ms(mode, workers)))
        first += BATCH
        link.send(LossSample(**common(), step=first - 10, value=1.0 / first))  # type: ignore[arg-type]
        time.sleep(EVERY_S)


main()
