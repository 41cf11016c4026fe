"""One profiling window as the hub keeps it: what was asked, how far each rank is, what came of it."""

import subprocess
from dataclasses import dataclass, field
from typing import TypeAlias

from perftui.ipc.dashboard_messages import ProfileCommand
from perftui.ipc.view import ProfileView
from perftui.ipc.worker_stacks import WorkerStacks
from perftui.trainer.hub.window_ranks import Lost, RankSeen
from perftui.trainer.profiling.answer import Analysis
from perftui.trainer.telemetry.worker_stacks import StackSampler

Neighbours: TypeAlias = tuple[float | None, float | None]


@dataclass
class HubWindow:
    """Changed by `ProfileWindows` only. Times ending in `_s` are monotonic."""

    window_id: str
    command: ProfileCommand
    start_step: int
    steps: int
    armed_ranks: list[int]
    began_s: float
    requested_unix: float
    opened_by: str = "command"
    asked_steps: int | None = None
    expected_s: float = 0.0
    """From the order to the first recorded step, as steps went then."""
    notes: list[str] = field(default_factory=list[str])
    seen: dict[int, RankSeen] = field(default_factory=dict[int, RankSeen])
    lost: dict[int, Lost] = field(default_factory=dict[int, Lost])
    """Ranks that are not waited for any more."""
    sampler: StackSampler | None = None
    stacks: list[WorkerStacks] | None = None
    """None: the workers have not been looked at yet."""
    far_stacks: list[WorkerStacks] = field(default_factory=list[WorkerStacks])
    """Of other hosts."""
    analysis: "subprocess.Popen[bytes] | None" = None
    analysed: bool = False
    """Its traces have been read, or there is nothing to read."""
    result: Analysis | None = None
    failure: str | None = None
    ended: float | None = None
    peer: bytes = b""
    answered: bool = False
    adopted: bool = False
    """Somebody else opened it: the environment, or a hub before this one."""
    files_deleted: bool = False
    neighbours: dict[int, Neighbours] = field(default_factory=dict[int, Neighbours])
    """Median step time before and after, by rank, as soon as both are known for good."""
    view: ProfileView | None = None
    """Of a window that will not change any more."""
