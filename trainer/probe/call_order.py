"""Whether the script's own lines run before the model is called or after it: told by the order of lines.

What comes between the fetch of a batch and the model's call is preparation, which workers could do. What
comes after the call may need what the model has put out. Lines are compared within one function that was
called from the same lines: the loop's, or one that it calls.
"""

from collections import Counter
from itertools import islice
from typing import Literal, TypeAlias

import torch

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.source_lines import begin_of_statement

Frame: TypeAlias = tuple[str, int, int]
"""File, the line at which its function begins, the line it is at."""
Chain: TypeAlias = tuple[Frame, ...]
"""The script's frames of a stack, outermost first."""
Event: TypeAlias = Literal["fetch", "model", "backward"]
Order: TypeAlias = Literal["before", "after", "behind"]
"""Between fetch and model; past the model's call; past the backward, and before the next fetch."""

_Function: TypeAlias = tuple[Chain, str, int]
"""The frames that called it, its file, and the line at which it begins."""

_DEPTH = 12
_CHAINS_KEPT = 512
_CALLS_KEPT = 64
_CALL_LOOKS = 8
"""Places that call a module, and looks into the module at each, at most: such a look walks over parameters.
One place may call it in training and in validation."""
_PARAMETERS = 4096


class CallOrder:
    """Remembers where batches are fetched, models called, backwards begun; counts lines around them."""

    def __init__(self) -> None:
        self._events: dict[_Function, dict[int, set[Event]]] = {}
        self._own: Counter[Chain] = Counter()
        self._calls: dict[Chain, int] = {}
        """Looks that are left."""

    def wants(self, chain: Chain) -> bool:
        """Return whether the module called from there is to be told."""
        new = len(self._calls) < _CALLS_KEPT
        return bool(chain) and self._calls.get(chain[:_DEPTH], int(new)) > 0

    def note_call(self, chain: Chain, module: Foreign) -> None:
        """Take where a module is called; one that is not being trained (a loss, a teacher) marks nothing."""
        trained = _is_trained(module)
        left = self._calls.get(chain[:_DEPTH], _CALL_LOOKS)
        self._calls[chain[:_DEPTH]] = 0 if trained else left - 1
        if trained:
            self.note("model", chain)

    def note(self, event: Event, chain: Chain) -> None:
        """Take the lines at which something happens, of the function in which it does and of its callers."""
        chain = chain[:_DEPTH]
        for depth, (file, begin, line) in enumerate(chain):
            self._events.setdefault((chain[:depth], file, begin), {}).setdefault(line, set()).add(event)
            if len(self._events) > _CHAINS_KEPT:
                self._events.clear()  # code that is made has ever new names

    def count(self, chain: Chain) -> None:
        """Count a look that found the thread in lines of the script's own."""
        chain = chain[:_DEPTH]
        if len(self._own) >= _CHAINS_KEPT and chain not in self._own:
            self._own = Counter(dict(self._own.most_common(_CHAINS_KEPT // 2)))
        self._own[chain] += 1

    def told(self) -> dict[str, int]:
        """Return the looks counted, by order; those of which it is not known are left out."""
        found: Counter[str] = Counter()
        for chain, looks in self._own.items():
            order = self._order(chain)
            if order is not None:
                found[order] += looks
        return dict(found)

    def _order(self, chain: Chain) -> Order | None:
        for depth, (file, begin, line) in enumerate(chain):
            events = self._events.get((chain[:depth], file, begin), {})
            if not any("model" in kinds for kinds in events.values()):
                return None
            if "model" not in events.get(line, ()):
                return _by_lines(file, line, events)
        return None


def _by_lines(file: str, line: int, events: dict[int, set[Event]]) -> Order | None:
    """Return the order by what happens last above a line, or at the head of its loop."""
    at = begin_of_statement(file, line)
    above: tuple[int, set[Event]] = 0, set()
    for place, kinds in events.items():
        begin = begin_of_statement(file, place)
        if begin == at and "model" in kinds:
            return None  # an argument of the call, or what is done with its result
        if begin == at and "fetch" in kinds:
            return "before"
        if above[0] < begin < at:
            above = begin, kinds
        elif begin == above[0] and begin < at:
            above = begin, above[1] | kinds
    if "backward" in above[1]:
        return "behind"
    return "after" if "model" in above[1] else "before"


def _is_trained(module: Foreign) -> bool:
    if not isinstance(module, torch.nn.Module) or not module.training:
        return False
    try:
        return any(weight.requires_grad for weight in islice(module.parameters(), _PARAMETERS))
    except RuntimeError:  # it is being changed in the training thread
        return False
