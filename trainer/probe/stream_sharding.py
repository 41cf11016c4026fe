"""Whether an IterableDataset divides its data over workers, told by its code and by what it holds.

That it does not is said only where all of it was looked at: its classes, the functions that its iteration
reaches, and what it iterates over. What is installed may divide by itself, a queue or a socket gives each
worker something else, and so do random numbers, which torch seeds apart in each worker.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from types import CodeType, FunctionType, MethodType, ModuleType

from torch.utils.data import Dataset, IterableDataset

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.reached_code import is_own, members, named_by, words_of
from perftui.trainer.probe.source_lines import is_installed, lines_of

_ASKS = ("worker_info", "worker_id")
_DRAWS = {
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "random", "random_",
    "uniform", "uniform_", "normal", "normal_", "choice", "choices", "shuffle", "integers", "permutation",
    "permuted", "standard_normal", "multinomial", "bernoulli", "randrange", "gauss", "initial_seed", "getpid",
}  # fmt: skip
_APART = {
    "random", "secrets", "uuid", "socket", "queue", "_queue", "multiprocessing", "subprocess", "urllib",
    "http", "asyncio", "_io",
}  # fmt: skip
"""Modules of Python by which processes get different things; `_io`: files that were open before a fork."""
_PLAIN = {
    "torch", "torchvision", "torchaudio", "numpy", "scipy", "pandas", "PIL", "cv2", "skimage", "imageio",
    "h5py", "sklearn", "tqdm", "einops", "matplotlib", "yaml", "orjson", "msgspec", "tokenizers", "tiktoken",
    "sentencepiece", "typing_extensions",
}  # fmt: skip
"""Installed packages that know nothing of workers, `torch.utils.data` apart."""
_FUNCTIONS_SEEN = 256
_PARTS_SEEN = 32
_DEPTH = 2
_ANSWERS_KEPT = 256
_known: dict[type | CodeType, bool | None] = {}


def divides(dataset: Foreign) -> bool | None:
    """Tell whether a dataset asks which worker it is in; None: cannot be told."""
    kind: type[Foreign] = type(dataset)
    return _together((_of_kind(kind), _of_held(dataset, _DEPTH)))


def _together(answers: Iterable[bool | None]) -> bool | None:
    """Return True where any part divides, and False only where none does."""
    said = set(answers)
    return True if True in said else None if None in said else False


def _once(key: type | CodeType, find: Callable[[], bool | None]) -> bool | None:
    if key not in _known:
        if len(_known) > _ANSWERS_KEPT:
            _known.clear()
        _known[key] = False  # what leads back to itself tells nothing new
        _known[key] = find()
    return _known[key]


def _of_kind(kind: type) -> bool | None:
    return _once(kind, lambda: _of_classes([each for each in kind.__mro__ if not _is_base(each)]))


def _is_base(kind: type) -> bool:
    top = kind.__module__.split(".")[0]
    return top in ("builtins", "typing", "abc", "collections") or kind in (Dataset, IterableDataset)


def _of_classes(classes: list[type]) -> bool | None:
    """Look at a class of the script's with all that it stands on, and at what its iteration reaches."""
    texts = [_text_of(kind) for kind in classes]
    if any(asking in text for text in texts for asking in _ASKS):
        return True
    if not all(texts):
        return None
    of_a_stream = any(issubclass(kind, IterableDataset) for kind in classes)
    begin = _ITERATION if of_a_stream else {name for kind in classes for name in vars(kind)}
    found = [each for _, each in members(classes, begin)]
    return _reached([each for each in found if isinstance(each, FunctionType)], classes)


_ITERATION = {"__iter__", "__next__"}


def _text_of(kind: type) -> str:
    """Return the source of the file of a class; empty: it is installed, or cannot be read."""
    try:
        file = inspect.getsourcefile(kind) if kind.__module__ in sys.modules else None
    except (TypeError, OSError):  # of a module without a file
        file = None
    return "" if file is None or is_installed(file) else "".join(lines_of(file))


def _reached(waiting: list[FunctionType], classes: list[type]) -> bool | None:
    """Look at functions, at the script's own that they call, and at the other values that they name."""
    seen: set[CodeType] = set()
    answers: set[bool | None] = set()
    while waiting:
        function = waiting.pop()
        if function.__code__ in seen:
            continue
        seen.add(function.__code__)
        words = words_of(function.__code__)
        names = words.names
        if any(asking in name for name in names for asking in _ASKS):
            return True
        if names & _DRAWS or len(seen) > _FUNCTIONS_SEEN or not all(map(_plain, words.imported)):
            answers.add(None)
        named = (each.value for each in named_by(function, words))
        for value in (*named, *(each for _, each in members(classes, names))):
            if isinstance(value, FunctionType) and is_own(value.__module__):
                waiting.append(value)
            else:
                answers.add(_of_value(value, _DEPTH))
    return _together(answers)


def _of_held(thing: Foreign, depth: int) -> bool | None:
    """Look at the attributes of an object."""
    held: dict[str, Foreign] = getattr(thing, "__dict__", {})
    return _together(_of_value(value, depth - 1) for value in islice(tuple(held.values()), _PARTS_SEEN))


def _of_value(value: Foreign, depth: int) -> bool | None:
    """Look at something that a dataset holds or names: False where it cannot divide."""
    if isinstance(value, ModuleType):
        return False if is_own(value.__name__) or _plain(value.__name__) else None
    if isinstance(value, FunctionType):
        if is_own(value.__module__):
            return _once(value.__code__, lambda: _reached([value], []))
        return False if _plain(value.__module__) else None
    if isinstance(value, type):
        return _of_type(value)
    kind: type[Foreign] = type(value)
    return _together((_of_type(kind), *(_of_parts(value, kind, depth) if depth > 0 else ())))


def _of_parts(value: Foreign, kind: type[Foreign], depth: int) -> Iterator[bool | None]:
    """Look into a container, a bound call, or an object of the script's own."""
    parts: Iterable[Foreign] = ()
    if issubclass(kind, MethodType):
        parts = (value.__self__, value.__func__)
    elif issubclass(kind, partial):
        parts = (value.func, *value.args, *value.keywords.values())
    elif issubclass(kind, dict):
        parts = tuple(value.values())
    elif issubclass(kind, (list, tuple, set)):
        parts = value
    elif is_own(kind.__module__) or _is_indexed(kind):
        yield _of_held(value, depth)
    yield from (_of_value(each, depth - 1) for each in islice(parts, _PARTS_SEEN))


def _of_type(kind: type[Foreign]) -> bool | None:
    if is_own(kind.__module__):
        return _of_kind(kind)
    return False if _plain(kind.__module__) or _is_indexed(kind) else None


def _is_indexed(kind: type[Foreign]) -> bool:
    """Tell whether something is a dataset of torch's that is asked for samples by their numbers."""
    of_torch = kind.__module__.startswith("torch.utils.data") and Dataset in kind.__mro__
    return of_torch and not hasattr(kind, "__iter__")


def _plain(module: str | None) -> bool:
    """Tell whether a module knows nothing of workers, and gives every process the same."""
    top = (module or "").split(".")[0]
    if (module or "").startswith("torch.utils.data"):
        return False
    return top in _PLAIN or (top in sys.stdlib_module_names and top not in _APART)
