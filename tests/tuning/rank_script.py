"""A training that speaks the protocol by itself: real process, keeper and hub, made-up step times.

Its steps take 40 ms, 20 ms with loader workers, 80 ms with three; so what a relaunch finds does not hang on
how busy this machine is. It refuses to run with four workers, and to apply five. With `--stubborn` no
signal but SIGKILL ends it.
"""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

from perftui.ipc.messages import PROTOCOL_VERSION, Effective, Hello, LossSample, StepBatch, Welcome
from perftui.ipc.rank_link import RankLink
from perftui.trainer.telemetry.processes import start_ticks

STEP_MS = {0: 40.0, 3: 80.0}
BATCH = 20
EVERY_S = 0.05


def batch(common: dict[str, object], first: int, wall_ms: float) -> StepBatch:
    walls = [int(1e6 * (wall_ms + 0.01 * ((first + index) * 7 % 11))) for index in range(BATCH)]
    zeros = [0] * BATCH
    return StepBatch(
        **common,  # type: ignore[arg-type]
        first_step=first,
        end_ns=[time.perf_counter_ns()] * BATCH,
        wall_ns=walls,
        wait_ns=[wall // 2 for wall in walls],
        forward_ns=zeros,
        backward_ns=zeros,
        optimizer_ns=zeros,
        cpu_ns=zeros,
        samples=[8] * BATCH,
        micro_batches=[1] * BATCH,
        epoch=zeros,
        flags=zeros,
    )


def stop(_number: int, _frame: object) -> None:
    sys.exit(0)


def main() -> None:
    if "--stubborn" in sys.argv:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, stop)
    applied = json.loads((Path(os.environ["PERFTUI_RUN_STATE"]) / "settings.json").read_text())
    workers = applied["settings"].get("loader.num_workers", 0)
    if workers == 4:
        sys.exit("four workers are more than I can bear")
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
    failed = {"loader.num_workers": "five is right out"} if workers == 5 else {}
    link.send(Effective(**common(), settings={"loader.num_workers": workers % 5}, failed=failed))  # type: ignore[arg-type]
    first = 0
    while True:
        link.send(batch(common(), first, STEP_MS.get(workers, 20.0)))
        first += BATCH
        link.send(LossSample(**common(), step=first - 10, value=1.0 / first))  # type: ignore[arg-type]
        time.sleep(EVERY_S)


main()
