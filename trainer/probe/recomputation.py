"""Whether a forward runs again within a backward, as activation checkpointing has it: told from the stacks.

Nothing of torch is wrapped for it. On a CPU the backward runs in the thread that called it; that of a GPU has
a thread of its own, with no Python on its stack but what it calls.
"""

from collections.abc import Mapping
from types import CodeType, FrameType

_DEPTH = 400
"""Frames that are looked at, of all threads together: some 50 us at most."""
_FILE = ("torch", "utils", "checkpoint.py")
_AGAIN = frozenset({"unpack_hook", "recompute_fn"})
"""Functions of torch's checkpoint (use_reentrant=False) in which nothing but a forward runs."""
_REENTRANT = "CheckpointFunction.backward"
"""The older one's, by torch and by libraries that bring their own."""
_ENGINE = "_engine_run_backward"


def recomputes(frames: Mapping[int, FrameType], thread: int) -> bool:
    """Tell whether the backward that a thread is in runs a forward.

    Args:
        frames: the innermost frame of every thread.
        thread: the training thread.
    """
    frame = frames.get(thread)
    if frame is None:
        return False
    if frame.f_code.co_name != _ENGINE:
        return _runs_again(frame)
    others = [other for ident, other in frames.items() if ident != thread]
    depth = _DEPTH // max(1, len(others))
    return any(_runs_again(other, depth) for other in others)


def _runs_again(frame: FrameType | None, depth: int = _DEPTH) -> bool:
    for _ in range(depth):
        if frame is None:
            return False
        code = frame.f_code
        if _is_a_recomputation(code):
            return True
        if code.co_name == _ENGINE:
            return False  # the older one starts a backward of its own after its forward
        frame = frame.f_back
    return False


def _is_a_recomputation(code: CodeType) -> bool:
    if code.co_name in _AGAIN:
        return tuple(code.co_filename.replace("\\", "/").split("/")[-3:]) == _FILE
    return code.co_name == "backward" and getattr(code, "co_qualname", "") == _REENTRANT
