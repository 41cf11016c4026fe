"""From stacks, sampled one by one, to the functions that a process was in. Pure."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from perftui.ipc.own_files import is_ours
from perftui.ipc.worker_stacks import WorkerFrame, WorkerStacks

FRAMES_MAX = 40
_LOOP = ("_worker_loop", "torch/utils/data/_utils/worker.py")
"""Of a worker, outermost of what it does itself: a forked one has the stack of its parent below."""


class Frame(NamedTuple):
    """One call on a stack."""

    function: str
    file: str
    line: int


class Stack(NamedTuple):
    """One look at a process's main thread."""

    frames: tuple[Frame, ...]
    """Innermost first."""
    active: bool
    """On a core, and not waiting."""


class Worker(NamedTuple):
    """Whose stacks they are."""

    rank: int
    pid: int
    start_ticks: int
    number: int | None


def folded(worker: Worker, stacks: Sequence[Stack]) -> WorkerStacks:
    """Return the shares of the samples that each function was on the stack, and innermost.

    A function counts once a sample however often it calls itself; of its lines the most frequent is named.
    """
    count = len(stacks)
    inner: Counter[tuple[str, str]] = Counter()
    anywhere: Counter[tuple[str, str]] = Counter()
    lines: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for stack in stacks:
        seen: set[tuple[str, str]] = set()
        for depth, frame in enumerate(_own(stack.frames)):
            name = (frame.function, frame.file)
            inner[name] += depth == 0
            if name not in seen:
                seen.add(name)
                anywhere[name] += 1
                lines[name][frame.line] += 1
    frames = [
        WorkerFrame(
            function=name[0],
            file=name[1],
            line=lines[name].most_common(1)[0][0],
            self_share=inner[name] / count,
            total_share=anywhere[name] / count,
        )
        for name in anywhere
    ]
    frames.sort(key=lambda frame: (-frame.self_share, -frame.total_share, frame.file, frame.function))
    return WorkerStacks(
        rank=worker.rank,
        pid=worker.pid,
        number=worker.number,
        samples=count,
        active_share=sum(stack.active for stack in stacks) / count if count else None,
        frames=frames[:FRAMES_MAX],
    )


def _own(frames: Sequence[Frame]) -> Sequence[Frame]:
    """Return the frames down to the worker's loop, all of them where there is none; but for perftui's own."""
    ends = (
        depth
        for depth, frame in enumerate(frames)
        if frame.function == _LOOP[0] and frame.file.endswith(_LOOP[1])
    )
    return [frame for frame in frames[: next(ends, len(frames)) + 1] if not is_ours(frame.file)]
