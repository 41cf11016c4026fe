"""Dynamo's own books, opened for reading: private to torch, so whatever is not as expected is left out.

Nothing here imports dynamo: while no other code has, nothing can have been compiled. The training thread
writes while the background thread reads, so each container is copied, once more when it changed meanwhile.
"""

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeVar

from perftui.ipc.own_files import is_ours
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.compile_words import break_reason, guard_reason, place, skip_reason

_DYNAMO = "torch._dynamo.utils"
_COPIES = 4
_CALLED = re.compile(r"Line: (\d+), Name: .*, Filename: (.*)")
A_MODULE = "a module"
"""What is compiled has no name of its own: the frame is torch's wrapper round it."""
_WRAPPER = "torch/_dynamo/external_utils.py"
_NUMBER = re.compile(r"(\d+)/(\d+)")
_Copy = TypeVar("_Copy")


@dataclass(frozen=True)
class Compilation:
    """One entry of dynamo's metrics."""

    function: str
    at: str
    began_s: float | None
    """Unix time."""
    took_s: float | None
    whole: bool
    """A frame was compiled; False: a backward, or tuning at run time."""
    again: bool
    """The frame had been compiled before."""
    why_again: str | None
    failure: str | None
    skip: str | None
    """Why CUDA graphs were not used."""


@dataclass(frozen=True)
class Break:
    """One cut of a graph."""

    reason: str
    at: str | None
    ours: bool = False
    """It is in a hook of ours, and nothing of the script's."""


def open_books() -> dict[str, Any] | None:
    """Return what dynamo keeps, by name; None while it is not imported."""
    dynamo = sys.modules.get(_DYNAMO)
    return None if dynamo is None else vars(dynamo)


def copied(
    copy: Callable[[Iterable[Any]], _Copy], container: Foreign, attempts: int = _COPIES
) -> _Copy | None:
    """Return a copy of what another thread may be changing; None where there is none to be had."""
    try:
        return copy(container)
    except RuntimeError:  # changed while it was copied
        return copied(copy, container, attempts - 1) if attempts > 1 else None
    except TypeError:
        return None


def read_counters(books: dict[str, Any]) -> dict[str, dict[str, int]] | None:
    """Return dynamo's counters, by group: those of frames, graphs, breaks and CUDA graphs."""
    counters = books.get("counters")
    if not isinstance(counters, dict):
        return None
    groups: dict[str, dict[str, int]] = {}
    for group in ("frames", "stats", "graph_break", "unimplemented"):
        found: Foreign = counters.get(group)
        groups[group] = {} if found is None else copied(dict, found) or {}
    inductor: Foreign = counters.get("inductor") or {}
    groups["inductor"] = {"cudagraph_skips": inductor.get("cudagraph_skips", 0)}
    return groups


def read_compilations(books: dict[str, Any]) -> list[Foreign] | None:
    """Return the newest entries (torch keeps 64), oldest first; None where this torch keeps none."""
    return copied(list, books.get("_compilation_metrics"))


def read_breaks(books: dict[str, Any]) -> list[Foreign] | None:
    """Return all cuts so far, oldest first; None where this torch keeps none."""
    return copied(list, books.get("graph_break_reasons"))


def as_compilation(entry: Foreign, books: dict[str, Any], told: dict[CodeType, int]) -> Compilation:
    """Read one entry.

    Args:
        entry: of `read_compilations`, each once and in their order.
        books: as opened.
        told: kept by the caller from one entry to the next: how many guard failures of a function are told.
    """
    function, at = _function(entry)
    again = _graphs_before(entry)
    failure = getattr(entry, "fail_type", None) and getattr(entry, "fail_reason", None)
    skip = getattr(entry, "cudagraph_skip_reason", None)
    part = getattr(entry, "is_forward", None) is False or bool(getattr(entry, "is_runtime", None))
    compiled = getattr(entry, "has_guarded_code", None) is not False
    began_s = getattr(entry, "start_time", None)
    return Compilation(
        function=function,
        at=at,
        began_s=float(began_s) if isinstance(began_s, (int, float)) else None,
        took_s=_seconds(entry),
        whole=not part and compiled and not failure,
        again=bool(again) and not part,
        why_again=_why_again(entry, books, told, again),
        failure=str(failure) if failure else None,
        skip=skip_reason(str(skip)) if skip else None,
    )


def as_break(reason: Foreign) -> Break:
    """Read one cut."""
    frames = list(getattr(reason, "user_stack", None) or [])
    at = place(str(frames[-1].filename), int(frames[-1].lineno or 0)) if frames else None
    ours = bool(frames) and is_ours(str(frames[-1].filename))
    return Break(break_reason(str(getattr(reason, "reason", reason))), at, ours)


def _seconds(entry: Foreign) -> float | None:
    for name, unit in (("duration_us", 1e-6), ("entire_frame_compile_time_s", 1.0)):
        value = getattr(entry, name, None)
        if isinstance(value, (int, float)):
            return value * unit
    return None


def _function(entry: Foreign) -> tuple[str, str]:
    file = str(getattr(entry, "co_filename", None) or "")
    if file and not file.endswith(_WRAPPER):
        return str(getattr(entry, "co_name", "?")), place(file, int(getattr(entry, "co_firstlineno", 0) or 0))
    for called in reversed(getattr(entry, "stack_trace", None) or []):
        found = _CALLED.fullmatch(str(called))
        if found and "/torch/" not in found[2]:
            return A_MODULE, place(found[2], int(found[1]))
    return A_MODULE, f"graph {getattr(entry, 'compile_id', None) or '?'}".partition("/")[0]


def _graphs_before(entry: Foreign) -> int:
    """Return how many graphs of the same function (and object) there were: above 0, it is compiled again."""
    size = getattr(entry, "cache_size", None)
    if isinstance(size, int):
        return size
    number = _NUMBER.fullmatch(str(getattr(entry, "compile_id", None)))
    return int(number[2]) if number else 0


def _why_again(entry: Foreign, books: dict[str, Any], told: dict[CodeType, int], again: int) -> str | None:
    reason = getattr(entry, "recompile_reason", None)
    if reason:
        return guard_reason(str(reason))
    return _guard_that_failed(entry, books, told, again) if again else None


def _guard_that_failed(
    entry: Foreign, books: dict[str, Any], told: dict[CodeType, int], again: int
) -> str | None:
    """Return the same where torch does not write it into the entry (2.4 to 2.7).

    A recompilation adds one failure for each graph that there was, the newest graph first.
    """
    kept: Foreign = books.get("guard_failures")
    name, file = getattr(entry, "co_name", None), getattr(entry, "co_filename", None)
    for code, failures in copied(list, kept.items() if isinstance(kept, dict) else ()) or []:
        if isinstance(code, CodeType) and (code.co_name, code.co_filename) == (name, file):
            first = told.get(code, 0)
            told[code] = first + again
            return guard_reason(str(failures[first])) if first < len(failures) else None
    return None
