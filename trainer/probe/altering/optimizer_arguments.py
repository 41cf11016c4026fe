"""`optimizer.fused` and `optimizer.foreach`: arguments with which torch's optimizers are built."""

import functools
import inspect
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

import torch

from perftui.ipc.settings import SettingValue
from perftui.trainer.probe.altering.book import TORCH_ERRORS, AlterationBook
from perftui.trainer.probe.border import Foreign

_PREFIX = "optimizer."
_OTHER = {"fused": "foreach", "foreach": "fused"}


def patch_optimizers(book: AlterationBook) -> None:
    """Have torch's optimizers built as the settings want them."""
    wanted = {name.removeprefix(_PREFIX): book.asked[name] for name in book.names(_PREFIX)}
    for kind in list(vars(torch.optim).values()):
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            accepted = inspect.signature(kind.__init__).parameters
            if any(argument in accepted for argument in wanted):
                _patch(book, kind, wanted)


def _patch(book: AlterationBook, kind: Foreign, wanted: dict[str, SettingValue]) -> None:
    original: Callable[..., None] = kind.__init__
    signature = inspect.signature(original)
    names = [_PREFIX + name for name in wanted]

    @functools.wraps(original)
    def build(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        try:
            arguments = signature.bind(self, *args, **kwargs).arguments
        except TypeError:  # torch's own words for it
            original(self, *args, **kwargs)
            return
        arguments.pop("self", None)
        for name, parameter in signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                arguments.update(arguments.pop(name, {}))
        if isinstance(arguments.get("params"), Iterator):
            arguments["params"] = list(arguments["params"])  # it may be read twice
        try:
            original(self, **_merged(arguments, wanted, signature))
        except TORCH_ERRORS as error:
            original(self, **arguments)
            book.refuse(names, f"{kind.__name__} refused it: {error}")
            return
        own = {name: arguments.get(name) for name in _OTHER if name in signature.parameters}

        def refused(error: Exception) -> None:
            book.refuse(names, f"the first update fails with it: {error}")

        _guard_first_step(self, own, refused)

    kind.__init__ = build


def _guard_first_step(
    optimizer: Foreign, own: dict[str, Foreign], refused: Callable[[Exception], None]
) -> None:
    """Do a first step that fails with our arguments once more, with the script's.

    There may be no such kernel for parameters that are sharded, or of a rare type; torch says so before it
    updates any.
    """
    original: Callable[..., Foreign] = optimizer.step

    @functools.wraps(original)
    def step(_self: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
        own_step = vars(optimizer).get("step")
        if getattr(own_step, "__func__", None) is step:
            del optimizer.step
        try:
            return original(*args, **kwargs)
        except (NotImplementedError, RuntimeError) as error:
            with_closure = (args[0] if args else kwargs.get("closure")) is not None
            if done or with_closure or isinstance(error, torch.cuda.OutOfMemoryError):
                raise
            done.append(True)
            for group in optimizer.param_groups:
                group.update(own)
            result = original(*args, **kwargs)
            refused(error)
            return result
        finally:
            done.append(True)

    done: list[bool] = []
    optimizer.step = MethodType(step, optimizer)


def _merged(
    arguments: dict[str, Any], wanted: dict[str, SettingValue], signature: inspect.Signature
) -> dict[str, Any]:
    merged = dict(arguments)
    for name, value in wanted.items():
        if name not in signature.parameters:
            continue
        merged[name] = value
        other = _OTHER[name]
        if value and other in signature.parameters:
            merged[other] = wanted.get(other, False)
    return merged


def read_argument(name: str, optimizers: list[Foreign]) -> tuple[SettingValue, str | None]:
    """Return what is in force in all living optimizers, or why it is not known."""
    argument = name.removeprefix(_PREFIX)
    values: set[SettingValue] = set()
    for optimizer in optimizers:
        for group in list(optimizer.param_groups):
            if argument not in group:
                return None, f"{type(optimizer).__name__} takes no {argument}"
            values.add(group[argument])
    if len(values) != 1:
        return None, "the optimizers differ in it" if values else "the script has built no optimizer of torch"
    return values.pop(), None
