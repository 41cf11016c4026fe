"""What ranks send and what a hub makes of it, for the tests: one rank that steps every 10 ms."""

from perftui.ipc.messages import PROTOCOL_VERSION, FromRank, Hello, StepBatch
from perftui.ipc.recording import Entry
from perftui.ipc.run_files import ExitRecord, RunDescription
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.views import RunFacts

WALL_NS = 10_000_000
START_UNIX = 1_000_000.0
OFFSET_NS = int(START_UNIX * 1e9)


def hello(rank: int = 0, seq: int = 0, pid: int = 100, world_size: int = 1) -> Hello:
    return Hello(
        run_id="r",
        host="h",
        rank=rank,
        seq=seq,
        protocol=PROTOCOL_VERSION,
        pid=pid,
        start_ticks=pid * 7,
        local_rank=rank,
        world_size=world_size,
        python="3.11",
        torch="2.14",
        device="cpu",
        command=["python", "t.py"],
        wall_offset_ns=OFFSET_NS,
    )


def batch(first: int, count: int, seq: int, rank: int = 0, dropped: int = 0, flags: int = 0) -> StepBatch:
    def column(value: int) -> list[int]:
        return [value] * count

    return StepBatch(
        run_id="r",
        host="h",
        rank=rank,
        seq=seq,
        first_step=first,
        end_ns=[(first + i + 1) * WALL_NS for i in range(count)],
        wall_ns=column(WALL_NS),
        wait_ns=column(WALL_NS // 2),
        forward_ns=column(WALL_NS // 10),
        backward_ns=column(WALL_NS // 5),
        optimizer_ns=column(WALL_NS // 10),
        cpu_ns=column(WALL_NS),
        samples=column(8),
        micro_batches=column(1),
        epoch=column(0),
        flags=[flags] + [0] * (count - 1),
        dropped=dropped,
    )


def folded(*messages: FromRank, at: float = START_UNIX) -> RunFold:
    fold = RunFold()
    for message in messages:
        fold.apply(Entry(unix=at, message=message))
    return fold


def description(**changes: object) -> RunDescription:
    fields: dict[str, object] = {
        "run_id": "r",
        "name": "r",
        "command": ["python", "t.py"],
        "cwd": "/",
        "host": "h",
        "started_unix": START_UNIX,
    }
    return RunDescription(**{**fields, **changes})  # type: ignore[arg-type]


def facts(ended: ExitRecord | None = None, **changes: object) -> RunFacts:
    return RunFacts(description=description(**changes), ended=ended, stopping=False, lost=False)
