"""`optimizer.fused` and `optimizer.foreach`: arguments with which torch's optimizers are built."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from perftui.ipc.settings import SettingValue
from perftui.trainer.probe.altering.book import TORCH_ERRORS, AlterationBook
from perftui.trainer.probe.altering.method_for import method_for
from perftui.trainer.probe.border import Foreign

_PREFIX = "optimizer."
_OTHER = {"fused": "foreach", "foreach": "fused"}
_SCALES = "_step_supports_amp_scaling"
"""Private: set by torch when an optimizer is built as fused, asked for by GradScaler."""
_HANDED = ("grad_scale", "found_inf")


def patch_optimizers(book: AlterationBook) -> None:
    """Have torch's optimizers built as the settings want them."""
    wanted = {name.removeprefix(_PREFIX): book.asked[name] for name in book.names(_PREFIX)}
    begun: set[int] = set()
    """Optimizers that are being built: AdamW has Adam build it, which is another of these classes."""
    for kind in list(vars(torch.optim).values()):
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            accepted = inspect.signature(kind.__init__).parameters
            if any(argument in accepted for argument in wanted):
                _patch(book, kind, wanted, begun)


def _patch(book: AlterationBook, kind: Foreign, wanted: dict[str, SettingValue], begun: set[int]) -> None:
    original: Callable[..., None] = kind.__init__
    signature = inspect.signature(original)
    names = [_PREFIX + name for name in wanted]

    @functools.wraps(original)
    def build(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        if id(self) in begun:
            original(self, *args, **kwargs)
            return
        begun.add(id(self))
        try:
            altered(self, args, kwargs)
        finally:
            begun.discard(id(self))

    def altered(self: Foreign, args: tuple[Foreign, ...], kwargs: dict[str, Foreign]) -> None:
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
        ours = _ours(wanted, signature)
        try:
            original(self, **{**arguments, **ours})
        except TORCH_ERRORS as error:
            self.__dict__.pop(_SCALES, None)  # set before the refusal
            original(self, **arguments)
            book.refuse(names, f"{kind.__name__} refused it: {error}")
            return
        own = {name: arguments.get(name) for name in _OTHER if name in signature.parameters}

        def refused(error: Exception) -> None:
            book.refuse(names, f"the first update fails with it: {error}")

        _guard_first_step(self, own, refused)
        _keep_when_loaded(self, ours, lambda: not any(name in book.failed for name in names))

    kind.__init__ = build


def _keep_when_loaded(optimizer: Foreign, ours: dict[str, SettingValue], wanted: Callable[[], bool]) -> None:
    """Have a checkpoint keep our arguments: it holds those of the run that wrote it.

    Before it is loaded, so that torch puts the number of steps on the device that they ask for.
    """

    def put_back(_optimizer: Foreign, state: dict[str, Any]) -> dict[str, Any] | None:
        if not wanted():
            return None
        return {**state, "param_groups": [{**group, **ours} for group in state["param_groups"]]}

    optimizer.register_load_state_dict_pre_hook(put_back)


def _guard_first_step(
    optimizer: Foreign, own: dict[str, Foreign], refused: Callable[[Exception], None]
) -> None:
    """Do a first step that fails with our arguments once more, with the script's.

    There may be no such kernel for parameters that are sharded, or of a rare type; torch says so before it
    updates any, and after it has counted the step.
    """
    original: Callable[..., Foreign] = optimizer.step

    def step(_self: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
        if vars(optimizer).get("step") is guarded:
            del optimizer.step
        counts = {} if done else _step_counts(optimizer)
        try:
            return original(*args, **kwargs)
        except (RuntimeError, AssertionError) as error:
            with_closure = (args[0] if args else kwargs.get("closure")) is not None
            if done or with_closure or isinstance(error, torch.cuda.OutOfMemoryError):
                raise
            done.append(True)
            for group in optimizer.param_groups:
                group.update(own)
            _count_again(optimizer, counts, on_device=bool(own.get("fused")))
            refused(error)
            return original(*args, **kwargs) if own.get("fused") or _unscaled(optimizer) else None
        finally:
            done.append(True)

    done: list[bool] = []
    guarded = optimizer.step = method_for(optimizer, original, step)


def _step_counts(optimizer: Foreign) -> dict[Foreign, torch.Tensor | None]:
    """Return how many steps each parameter has had that has a state already."""
    steps = {parameter: state.get("step") for parameter, state in optimizer.state.items()}
    return {key: step.clone() if isinstance(step, torch.Tensor) else None for key, step in steps.items()}


def _count_again(optimizer: Foreign, counts: dict[Foreign, torch.Tensor | None], *, on_device: bool) -> None:
    """Take back what a failed step has counted, and the states that it has made."""
    for parameter in list(optimizer.state):
        if parameter not in counts:
            del optimizer.state[parameter]
    for group in optimizer.param_groups:
        stays = on_device or group.get("capturable")
        for parameter in group["params"]:
            count = counts.get(parameter)
            if count is not None:
                optimizer.state[parameter]["step"] = count if stays else count.cpu()


def _unscaled(optimizer: Foreign) -> bool:
    """Do for an optimizer that is fused no more what a GradScaler does; False: the step is to be left out.

    A GradScaler leaves its work to the step of a fused optimizer, and hands it scale and verdict.
    """
    attributes: dict[str, Foreign] = optimizer.__dict__
    attributes[_SCALES] = False
    handed = {name: attributes.get(name) for name in _HANDED}
    attributes.update(dict.fromkeys(name for name in _HANDED if name in attributes))
    scale, found = handed["grad_scale"], handed["found_inf"]
    if found is not None and bool(found):
        return False
    if scale is not None:
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.div_(scale.to(parameter.grad.device))
    return True


def _ours(wanted: dict[str, SettingValue], signature: inspect.Signature) -> dict[str, SettingValue]:
    """Return the arguments to build with, over the script's: of the two implementations one is off."""
    ours: dict[str, SettingValue] = {}
    for name, value in wanted.items():
        if name not in signature.parameters:
            continue
        ours[name] = value
        other = _OTHER[name]
        if value and other in signature.parameters:
            ours[other] = wanted.get(other, False)
    return ours


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
