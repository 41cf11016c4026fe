"""Where the training thread is: looked up ten times a second from the agent's thread, in some microseconds.

A look takes the frames that are there (`sys._current_frames`), so nothing runs in the training thread. It
comes when that thread gives up the interpreter's lock, at the latest after five milliseconds; the shares of
looks are therefore estimates, and only their places are told as facts.
"""

import linecache
import os
import re
import sys
import sysconfig
import weakref
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

from perftui.ipc.facts import StackFacts, StackPlace
from perftui.trainer.probe.border import Foreign

DEPTH = 200
"""Frames of a stack that are looked at."""
_PLACES_KEPT = 512
_PLACES_TOLD = 24
_LINE_KEPT = 100
_TORCH = (
    ("compile", ("_dynamo/convert_frame.py",)),
    ("collate", ("utils/data/_utils/collate.py",)),
    ("dataset", ("utils/data/_utils/fetch.py",)),
    ("loader", ("utils/data/dataloader.py",)),
    ("backward", ("autograd/__init__.py", "autograd/graph.py", "_tensor.py")),
    ("checkpoint", ("serialization.py",)),
    ("communication", ("distributed/",)),
    ("model", ("nn/modules/module.py", "nn/functional.py", "nn/parallel/")),
    ("optimizer", ("optim/", "amp/grad_scaler.py", "nn/utils/clip_grad.py")),
)
"""By area, most telling first: files of torch, of which one in a stack says what the thread is doing."""
_OTHERS = (
    ("checkpoint", ("/safetensors/",)),
    ("logging", ("/logging/__init__.py", "/tqdm/", "/tensorboard", "/wandb/", "/mlflow/", "/comet_ml/")),
)
_ORDER = (
    "compile", "collate", "dataset", "loader", "backward", "checkpoint", "logging", "communication", "model",
    "optimizer",
)  # fmt: skip
_WRITES = re.compile(
    r"\bprint\(|\.write\(|\.writelines\(|\.flush\(|fsync\(|\.writerow|add_scalar|\.dump\(|\blogg(er|ing)\."
)
_TOOLS = ("cProfile", "profile", "pdb", "bdb", "trace")
_LOADING = frozenset({"collate", "dataset", "loader"})
_BACKWARD = frozenset({"backward", "_engine_run_backward", "grad"})
_OURS = str(Path(__file__).parents[1]) + os.sep
_OWN_ROOTS = ("stdlib", "platstdlib", "purelib", "platlib")


class ThreadLooks:
    """Counts looks at one thread, by area and by line."""

    def __init__(self) -> None:
        self._looks = 0
        self._areas: Counter[str] = Counter()
        self._places: Counter[tuple[str, str, int, str]] = Counter()
        self._area_of: dict[str, str] = {}
        self._installed = tuple({sysconfig.get_paths()[name] for name in _OWN_ROOTS})
        self._torch = str(Path(sys.modules["torch"].__file__ or "").parent) + os.sep
        self._awaited: Counter[int] = Counter()
        self._others_ready = 0
        self._traced: Counter[str] = Counter()
        stdlib = sysconfig.get_paths()["stdlib"]
        self._tools = {f"{stdlib}/{name}.py": name for name in _TOOLS}
        """Files of tools that run a script under their eyes."""
        self.iterator: weakref.ref[Foreign] | None = None
        """Of the loader that was iterated last."""

    def look(self, thread: int) -> None:
        """Look once; `thread` as `threading.get_ident` gives it, 0 before it is known."""
        frame = sys._current_frames().get(thread)
        if frame is None:
            return
        area, place = self._read(frame)
        del frame
        self._looks += 1
        self._areas[area] += 1
        if place in self._places or len(self._places) < _PLACES_KEPT:
            self._places[place] += 1
        if area == "loader":
            self._look_at_workers()

    def _read(self, innermost: FrameType) -> tuple[str, tuple[str, str, int, str]]:
        """Return the area, and (area, file, line, function) of the frame that stands for the stack."""
        seen: set[str] = set()
        own: FrameType | None = None
        fetch: FrameType | None = None
        """The innermost frame of the loader; `made`: the script's own innermost frame below it."""
        made: FrameType | None = None
        traced = ""
        frame: FrameType | None = innermost
        collating = False
        for _ in range(DEPTH):
            if frame is None:
                break
            code = frame.f_code
            if frame.f_trace is not None or code.co_filename in self._tools:
                traced = self._tools.get(code.co_filename, "sys.settrace")
            area = self._area(code)
            if area == "dataset" and not collating:
                collating = "collate_fn" in linecache.getline(code.co_filename, frame.f_lineno)
            if area in _LOADING and fetch is None:
                fetch, made = frame, own
            if area == "script" and own is None:
                own = frame
            seen.add(area)
            frame = frame.f_back
        if traced:
            self._traced[traced] += 1
        area = next((each for each in _ORDER if each in seen), "script")
        if area == "dataset" and collating:
            area = "collate"
        if area in _LOADING:  # the script's loop, which asked for the batch, says nothing of it
            own = made if made is not None else fetch
        chosen = own if own is not None else innermost
        code = chosen.f_code
        name = code.co_qualname if sys.version_info >= (3, 11) else code.co_name
        if area == "script" and _WRITES.search(linecache.getline(code.co_filename, chosen.f_lineno)):
            area = "logging"
        return area, (area, code.co_filename, chosen.f_lineno, name)

    def _area(self, code: CodeType) -> str:
        """Return what a frame's file tells; script: a file of the user's own; empty: nothing."""
        name = code.co_filename
        area = self._area_of.get(name)
        if area is None:
            area = self._area_of[name] = self._area_of_file(name)
        return "" if area == "backward" and code.co_name not in _BACKWARD else area

    def _area_of_file(self, name: str) -> str:
        if name.startswith(self._torch):
            inner = name[len(self._torch) :]
            return next((area for area, files in _TORCH if inner.startswith(files)), "")
        for area, parts in _OTHERS:
            if any(part in name for part in parts):
                return area
        compiled = "torchinductor" in name
        return "" if compiled or name.startswith(("<", _OURS, *self._installed)) else "script"

    def _look_at_workers(self) -> None:
        """See for which worker's batch the loader waits, and whether all other batches are there."""
        iterator = None if self.iterator is None else self.iterator()
        tasks: dict[int, tuple[Foreign, ...]] | None = getattr(iterator, "_task_info", None)
        awaited = None if tasks is None else tasks.get(getattr(iterator, "_rcvd_idx", -1))
        if tasks is None or awaited is None or len(awaited) != 1:
            return
        others = [task for task in list(tasks.values()) if task[0] != awaited[0]]
        self._awaited[int(awaited[0])] += 1
        self._others_ready += bool(others) and all(len(task) > 1 for task in others)

    def facts(self) -> StackFacts | None:
        """Return the counts so far; None before the first look."""
        if not self._looks:
            return None
        most = sorted(self._places.items(), key=lambda item: (-item[1], item[0]))[:_PLACES_TOLD]
        return StackFacts(
            looks=self._looks,
            areas=dict(self._areas),
            places=[
                StackPlace(
                    area=area,
                    at=f"{_shown(file)}:{line} {name}",
                    line=linecache.getline(file, line).strip()[:_LINE_KEPT] or None,
                    count=count,
                )
                for (area, file, line, name), count in most
            ],
            awaited={str(worker): count for worker, count in sorted(self._awaited.items())},
            others_ready=self._others_ready,
            traced=dict(self._traced),
        )


def _shown(file: str) -> str:
    """Return a path below the working folder as a relative one, others as they are."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file
