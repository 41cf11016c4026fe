"""What the code of a class or a function names and leads to: read from its bytecode, nothing is run."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dis import get_instructions
from functools import cached_property
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import NamedTuple

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.source_lines import is_installed

_ANSWERS_KEPT = 1024
_FUNCTIONS_SEEN = 128
_known: dict[CodeType, "Words"] = {}


class Words(NamedTuple):
    """What some code says, functions within it as well."""

    names: frozenset[str]
    """Attributes and globals that it uses."""
    loaded: frozenset[str]
    """Globals of these."""
    own: frozenset[str]
    """Attributes of these that it takes from its first argument: in a method, from the object."""
    stored: frozenset[str]
    """Attributes and globals that it sets."""
    imported: frozenset[str]
    """Modules."""


class Named(NamedTuple):
    """A value that a function names."""

    module: str
    """Whose global it is, or the function's."""
    name: str
    value: Foreign
    closing: CodeType | None = None
    """The function's code, where it closes over the value."""


def words_of(code: CodeType) -> Words:
    """Return what some code says."""
    words = _known.get(code)
    if words is None:
        if len(_known) >= _ANSWERS_KEPT:
            _known.clear()
        words = _known[code] = _read(code, code.co_varnames[0] if code.co_argcount else "")
    return words


def _read(code: CodeType, first: str) -> Words:
    """Read some code; `first` is the name of its first argument, which functions within it may use."""
    loaded, own, stored, imported = set[str](), set[str](), set[str](), set[str]()
    before: Foreign = None
    for each in get_instructions(code):
        name = each.argval
        if each.opname == "IMPORT_NAME":
            imported.add(name)
        elif each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded.add(name)
        elif each.opname in ("STORE_ATTR", "STORE_GLOBAL"):
            stored.add(name)
        elif each.opname in ("LOAD_ATTR", "LOAD_METHOD") and before == first:
            own.add(name)
        # two are loaded at once since Python 3.13; an empty tuple is a constant
        before = name[-1] if isinstance(name, tuple) and name else name
    said = [set(code.co_names), loaded, own, stored, imported]
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            said = [mine | more for mine, more in zip(said, _read(inner, first), strict=True)]
    return Words(*map(frozenset, said))


def members(classes: Iterable[type], names: Iterable[str]) -> Iterator[tuple[str, Foreign]]:
    """Return what classes define under these names: functions as they are called."""
    wanted = frozenset(names)
    for kind in classes:
        for name in wanted & vars(kind).keys():
            yield name, _called(vars(kind)[name])


def _called(found: Foreign) -> Foreign:
    """Return the function behind what a class holds; by its type, so that no code of the script's runs."""
    kind: type[Foreign] = type(found)
    if issubclass(kind, property):
        return found.fget
    if issubclass(kind, cached_property):
        return found.func
    return found.__func__ if issubclass(kind, (staticmethod, classmethod, MethodType)) else found


def named_by(function: FunctionType, words: Words) -> Iterator[Named]:
    """Return the globals and closed-over values that a function names; of modules of the script's, theirs."""
    module, code = function.__module__, function.__code__
    with suppress(ValueError):  # of a cell that is not filled yet
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        for name, value in zip(code.co_freevars, cells, strict=True):
            yield Named(module, name, value, code)
    for name in words.loaded & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, ModuleType) and is_own(value.__name__):
            inside = vars(value)
            yield from (Named(value.__name__, inner, inside[inner]) for inner in words.names & inside.keys())
        else:
            yield Named(module, name, value)


def is_own(module: str | None) -> bool:
    """Return whether a module is the script's own: read from a file, and not installed."""
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return file is not None and not is_installed(file)


class Reached(NamedTuple):
    """What functions and all that they lead to say."""

    names: frozenset[str]
    own: frozenset[str]
    stored: frozenset[str]
    values: list[Named]
    """Globals and closed-over values that they name."""


def reached_from(waiting: Iterable[Foreign], classes: list[type]) -> Reached:
    """Follow functions to the script's own that they call, and to the methods that they name."""
    queue = [each for each in waiting if type(each) is FunctionType]
    seen: set[FunctionType] = set()
    names, own, stored = set[str](), set[str](), set[str]()
    values: list[Named] = []
    while queue and len(seen) < _FUNCTIONS_SEEN:
        function = queue.pop()
        if function in seen:
            continue
        seen.add(function)
        words = words_of(function.__code__)
        names |= words.names
        own |= words.own
        stored |= words.stored
        called = [each for _, each in members(classes, words.names - {"__init__"})]
        if is_own(function.__module__):
            named = list(named_by(function, words))
            inner = [each.value for each in named if type(each.value) is FunctionType]
            called += [each for each in inner if is_own(each.__module__)]
            values += named
        queue += [each for each in called if type(each) is FunctionType]
    return Reached(frozenset(names), frozenset(own), frozenset(stored), values)
