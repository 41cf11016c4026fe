"""Where the training thread is: looked up ten times a second from the agent's thread, in some microseconds.

A look takes the frames that are there (`sys._current_frames`), so nothing runs in the training thread. It
comes when that thread gives up the interpreter's lock, at the latest after five milliseconds; the shares of
looks are therefore estimates, and only their places are told as facts.
"""

import re
import sys
import sysconfig
import threading
import weakref
from collections import Counter
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import NamedTuple, TypeAlias

from perftui.ipc.facts import StackFacts, StackPlace
from perftui.ipc.own_files import is_ours
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.call_order import CallOrder, Chain
from perftui.trainer.probe.device_reads import DeviceReads
from perftui.trainer.probe.model_calls import Called, ModelCalls, told_of
from perftui.trainer.probe.own_places import name_of, shown
from perftui.trainer.probe.recomputation import recomputes
from perftui.trainer.probe.root_modules import CALL, RootModules
from perftui.trainer.probe.saving_threads import SavingThreads, waits
from perftui.trainer.probe.source_lines import line_without_own, statement_at, text_at
from perftui.trainer.probe.stack_areas import AREAS, StackAreas

DEPTH = 200
"""Frames of a stack that are looked at."""
_PLACES_KEPT = 512
_PLACES_TOLD = 24
_LINE_KEPT = 100
WRITES = re.compile(
    r"\bprint\(|\.write\(|\.writelines\(|\.flush\(|fsync\(|\.writerow|\.dump\("
    r"|\b_?(?i:log(?:ger|ging)?)\.\w+\(|\b(?:wandb|mlflow)\.\w+\(|\bself\.log\("
    r"|\.log_(?:dict|metric|histogram|scalar|image)\w*\(|\.add_(?:scalar|histogram|image|figure|text)"
    r"|\.save(?:fig|z|z_compressed|txt)?\(|\bsave_image\(|\bim(?:save|write)\(|\bwrite_(?:png|jpeg|video)\("
    r"|\.to_(?:csv|json|parquet|pickle)\("
)
"""In a statement: it logs, prints or writes; saving weights is told apart before, by torch's own files."""
_TOOLS = ("cProfile", "profile", "pdb", "bdb", "trace")
_LOADING = frozenset({"collate", "dataset", "loader"})
_OWN = frozenset({"script", "model"})
"""Where a call that waits for the GPU is the script's own doing."""

_Place: TypeAlias = tuple[str, str, int, str]
"""area, file, line, function."""


class _Spot(NamedTuple):
    """Where a frame was, without the frame: that would keep all its variables alive, and so their memory."""

    code: CodeType
    own_line: int | None
    instruction: int

    @property
    def line(self) -> int:
        return line_without_own(self.code, self.instruction) if self.own_line is None else self.own_line

    @property
    def place(self) -> tuple[str, int]:
        return self.code.co_filename, self.line

    @property
    def frame(self) -> tuple[str, int, int]:
        return self.code.co_filename, self.code.co_firstlineno, self.line

    @property
    def text(self) -> str:
        return text_at(self.code.co_filename, self.line)

    @property
    def statement(self) -> str:
        return statement_at(self.code.co_filename, self.line)


@dataclass
class _Stack:
    """What one walk up a stack found."""

    innermost: _Spot
    areas: set[str]
    script: list[_Spot] = field(default_factory=list[_Spot])
    """The script's frames, innermost first."""
    within: dict[str, int] = field(default_factory=dict[str, int])
    """How many of these are within a fetch (loader), a call of a module (model), or a backward."""
    fetch: _Spot | None = None
    """The innermost frame of the loader."""
    made: _Spot | None = None
    """The script's own innermost frame below it."""
    fetchers: list[_Spot] = field(default_factory=list[_Spot])
    """Frames of what fetches from a dataset."""
    traced: str = ""
    called: Called | None = None
    """The model that is being called, outside of loader and backward."""
    saving: bool = False
    """It waits in a line of the script's own, and another thread saves."""

    @property
    def own(self) -> _Spot | None:
        """The script's innermost frame."""
        return self.script[0] if self.script else None

    def chain(self, within: str = "") -> Chain:
        """Return the script's frames from the outermost on, those within something left out."""
        return tuple(spot.frame for spot in reversed(self.script[self.within.get(within, 0) :]))


class ThreadLooks:
    """Counts looks at one thread, by area and by line."""

    def __init__(self) -> None:
        self._looks = 0
        self._areas: Counter[str] = Counter()
        self._places: Counter[_Place] = Counter()
        areas = StackAreas()
        self._area_of = areas.of
        self._reads = DeviceReads(areas.torch)
        self._awaited: Counter[int] = Counter()
        self._others_ready = 0
        self._traced: Counter[str] = Counter()
        self._recomputing = 0
        self._no_gradient = 0
        self._saving = 0
        self._calls = ModelCalls()
        self._order = CallOrder()
        stdlib = sysconfig.get_paths()["stdlib"]
        self._tools = {f"{stdlib}/{name}.py": name for name in _TOOLS}
        """Files of tools that run a script under their eyes."""
        self.modules: RootModules | None = None
        """Where called modules are noted; None: nobody wants to know."""
        self.iterator: weakref.ref[Foreign] | None = None
        """Of the loader that was iterated last."""
        self.saving: SavingThreads | None = None
        """Knows which threads save; None: nobody does."""

    def look(self, thread: int, *, validating: bool = False) -> bool:
        """Look once; return whether the model that is trained was found being evaluated.

        Args:
            thread: as `threading.get_ident` gives it, 0 before it is known.
            validating: that a validation goes on is known already.
        """
        stack = self._walk(thread)
        if stack is None:
            return False
        area, place = _judged(stack, self._reads)
        self._looks += 1
        for event in ("loader", "backward"):
            if event in stack.within:
                self._order.note("fetch" if event == "loader" else "backward", stack.chain(event))
        if area == "script":
            self._order.count(stack.chain())
        self._areas[area] += 1
        if stack.traced:
            self._traced[stack.traced] += 1
        if len(self._places) >= _PLACES_KEPT and place not in self._places:
            self._places = Counter(dict(self._places.most_common(_PLACES_KEPT // 2)))  # a new one may be hot
        self._places[place] += 1
        if area == "loader":
            self._look_at_workers()
        self._saving += area == "script" and stack.saving
        if stack.called is None:
            return False
        told = told_of(stack.called, [(spot.code, spot.line) for spot in stack.script])
        self._no_gradient += told == "no gradient" and not validating
        return told == "evaluated"

    def _walk(self, thread: int) -> _Stack | None:
        """Note what there is to note; no file is read meanwhile, as the frames must be let go of at once."""
        frames = sys._current_frames()
        frames.pop(threading.get_ident(), None)  # this one would keep itself, and with it all others
        frame = frames.get(thread)
        if frame is None:
            return None
        innermost = frame
        while is_ours(innermost.f_code.co_filename) and innermost.f_back is not None:
            innermost = innermost.f_back
        stack = _Stack(_spot(innermost), set())
        del innermost
        calls: list[FrameType] = []
        for _ in range(DEPTH):
            if frame is None:
                break
            code = frame.f_code
            if frame.f_trace is not None or code.co_filename in self._tools:
                stack.traced = self._tools.get(code.co_filename, "sys.settrace")
            area = self._area_of(code)
            if area == "dataset":
                stack.fetchers.append(_spot(frame))
            if area in _LOADING:
                stack.within["loader"] = len(stack.script)
                if stack.fetch is None:
                    stack.fetch, stack.made = _spot(frame), stack.own
            if area == "backward":
                stack.within["backward"] = len(stack.script)
            if area == "script":
                stack.script.append(_spot(frame))
            if area == "model" and code.co_name == CALL:
                calls.append(frame)
                stack.within["model"] = len(stack.script)
            stack.areas.add(area)
            frame = frame.f_back
        if calls:
            self._note_call(stack, calls)
        elif self.saving is not None and self.saving.any and waits(*stack.innermost.place):
            stack.saving = self.saving.found(frames, thread)
        if "backward" in stack.areas:
            self._recomputing += recomputes(frames, thread)
        return stack

    def _note_call(self, stack: _Stack, calls: list[FrameType]) -> None:
        """Note the outermost module that is being called: what it is, and from where."""
        call = calls[-1]
        if self.modules is not None and self.modules.wanted:
            self.modules.note(call)
        if stack.areas.isdisjoint({"backward", *_LOADING}):
            stack.called = self._calls.called(calls, stack.within["model"])
            chain = stack.chain("model")
            if self._order.wants(chain):
                self._order.note_call(chain, call.f_locals.get("self"))

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
                    at=f"{shown(file)}:{line} {name}",
                    line=text_at(file, line).strip()[:_LINE_KEPT] or None,
                    count=count,
                )
                for (area, file, line, name), count in most
            ],
            awaited={str(worker): count for worker, count in sorted(self._awaited.items())},
            others_ready=self._others_ready,
            traced=dict(self._traced),
            waits_told=True,
            recomputing=self._recomputing,
            order=self._order.told(),
            no_gradient=self._no_gradient,
            saving=self._saving,
        )


def _spot(frame: FrameType) -> _Spot:
    return _Spot(frame.f_code, frame.f_lineno, frame.f_lasti)


def _judged(stack: _Stack, reads: DeviceReads) -> tuple[str, _Place]:
    """Return the area, and the place that stands for the stack."""
    area = next((each for each in AREAS if each in stack.areas), "script")
    if area == "dataset" and any("collate_fn" in spot.text for spot in stack.fetchers):
        area = "collate"
    own = stack.own
    if area in _LOADING:  # the script's loop, which asked for the batch, says nothing of it
        own = stack.made if stack.made is not None else stack.fetch
    chosen = own if own is not None else stack.innermost
    code = chosen.code
    name = name_of(code)
    if area in _OWN and reads.waits(stack.innermost, stack.own):
        area = "device"
    elif area == "script" and WRITES.search(chosen.statement):
        area = "logging"
    return area, (area, code.co_filename, chosen.line, name)
