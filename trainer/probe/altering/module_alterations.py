"""What settings do to the modules that are optimised: layout, compilation, autocast, in this order."""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import nn

from perftui.trainer.probe.altering import (
    autocast,
    compiling_in_place,
    loss_scale,
    memory_format,
    own_functions,
)
from perftui.trainer.probe.altering.altered_call import Around, alter_call
from perftui.trainer.probe.altering.book import TORCH_ERRORS, AlterationBook
from perftui.trainer.probe.altering.called_modules import device_type_of, in_backward
from perftui.trainer.probe.altering.loss_scale import LossScale
from perftui.trainer.probe.altering.optimised_modules import Optimised, compiled_by_script, sharded_by
from perftui.trainer.probe.border import Foreign

_AUTOCAST, _LAYOUT, _COMPILE = "precision.autocast", "layout.channels_last", "compile."


@dataclass
class Situation:
    """What the first step shows of a training."""

    optimizer: torch.optim.Optimizer
    optimizers: int
    """How many are alive."""
    scaler: bool
    """The script has a GradScaler that is on."""
    world_size: int
    closure: bool
    """The step about to begin is given one."""
    differentiated_again: bool = False
    """The script differentiates gradients."""


@dataclass
class ModuleAlterations:
    """Alters modules, once each.

    Args:
        book: what is asked.
        step_left_out: told of each step that loss scaling leaves out.
    """

    book: AlterationBook
    step_left_out: Callable[[torch.optim.Optimizer], None]
    _compiled: "list[weakref.ref[nn.Module]]" = field(default_factory=list["weakref.ref[nn.Module]"])
    _graphs_before: int = 0
    _scale: LossScale | None = None
    _altered: "list[weakref.ref[nn.Module]]" = field(default_factory=list["weakref.ref[nn.Module]"])

    @property
    def any(self) -> bool:
        """Whether a module has been altered, or looked at for it."""
        return bool(self._altered)

    def alter(self, modules: Sequence[Optimised], situation: Situation) -> None:
        """Alter the modules of one optimizer, just before its first step."""
        fresh = [module for module in modules if not self._is_altered(module.called)]
        self._altered += [weakref.ref(module.called) for module in fresh]
        if not fresh:
            return
        for module in fresh:
            self._give_up_parts(module.called)
        layout = self._lay_out(fresh, situation.optimizer)
        dtype = self._autocast_dtype(fresh)
        if dtype is torch.float16 and not situation.scaler:
            dtype = self._scale_losses(fresh, situation)
        if dtype is not None:
            for module in fresh:
                for function in module.functions:
                    own_functions.protect(function, device_type_of(module.called), dtype)
        compiled = [module for module in fresh if self._compile(module, situation)]
        for module in fresh:
            hooked = module not in compiled and not compiled_by_script(module.called)
            part = autocast.where_most_is_trained(module.called) if hooked else None
            around = self._around(module, dtype, part, layout=layout)
            if around is not None or module in compiled:
                self._alter_call(module, around or _as_it_is, compiled=module in compiled)

    # the parts

    def _is_altered(self, module: nn.Module) -> bool:
        """Tell whether a module, or one that it stands in, has been altered already."""
        altered = [whole for each in self._altered if (whole := each()) is not None]
        return any(part is module for whole in altered for part in whole.modules())

    def _give_up_parts(self, whole: nn.Module) -> None:
        """Let parts run as they are written that were altered for another optimizer, before their whole."""
        for part in whole.modules():
            if part is not whole and any(each() is part for each in self._altered):
                compiling_in_place.take_back(part)
                self._compiled = [each for each in self._compiled if each() is not part]

    def _lay_out(self, modules: Sequence[Optimised], optimizer: torch.optim.Optimizer) -> bool:
        if _LAYOUT not in self.book.of_modules():
            return False
        if in_backward():
            self.book.refuse([_LAYOUT], "the optimizer steps within the backward, in which nothing can move")
            return False
        if any(sharded_by(module.called) for module in modules):
            self.book.refuse([_LAYOUT], "the parameters are sharded (FSDP), which keeps them flat")
            return False
        converted = [memory_format.convert(module.inner, torch.channels_last) for module in modules]
        if not any(converted):
            self.book.refuse([_LAYOUT], "the model has no parameter of four dimensions (kernels of images)")
            return False
        memory_format.convert_state(optimizer, torch.channels_last)
        return True

    def _autocast_dtype(self, modules: Sequence[Optimised]) -> torch.dtype | None:
        if _AUTOCAST not in self.book.of_modules():
            return None
        wanted = autocast.DTYPES[str(self.book.asked[_AUTOCAST])]
        own = {module.autocast for module in modules}
        if own != {None}:
            self._take_script_autocast(wanted, own)
            return None
        for module in modules:
            parameters = [parameter.dtype for parameter in module.called.parameters()]
            reason = autocast.why_not(device_type_of(module.called), wanted, parameters)
            if reason is not None:
                self.book.refuse([_AUTOCAST], reason)
                return None
        return wanted

    def _take_script_autocast(self, wanted: torch.dtype, own: set[torch.dtype | None]) -> None:
        if own == {wanted}:
            self.book.seen[_AUTOCAST] = self.book.asked[_AUTOCAST]
            return
        told = ", ".join(sorted(autocast.name_of(dtype) or str(dtype) for dtype in own))
        self.book.refuse([_AUTOCAST], f"the script uses autocast itself ({told}): change it there")

    def _scale_losses(self, modules: Sequence[Optimised], situation: Situation) -> torch.dtype | None:
        optimizer = situation.optimizer
        reason = loss_scale.why_not_scaled(
            optimizer,
            list(modules),
            situation.optimizers,
            situation.world_size,
            closure=situation.closure,
        )
        if reason is not None:
            self.book.refuse([_AUTOCAST], f"fp16 needs its losses scaled: {reason}")
            return None
        reference = weakref.ref(optimizer)

        def left_out() -> None:
            alive = reference()
            if alive is not None:
                self.step_left_out(alive)

        self._scale = LossScale(
            optimizer,
            left_out,
            lambda why: self.book.refuse([_AUTOCAST], f"fp16 needs its losses scaled: {why}"),
        )
        self._scale.install()
        return torch.float16

    def _compile(self, module: Optimised, situation: Situation) -> bool:
        names = [name for name in self.book.of_modules() if name.startswith(_COMPILE)]
        if not names:
            return False
        options = compiling_in_place.compile_options(self.book.asked)
        reason = compiling_in_place.why_not_compiled(
            module, options, differentiated_again=situation.differentiated_again
        )
        if reason is None:
            self._graphs_before = compiling_in_place.graphs_compiled() or 0
            try:
                compiling_in_place.compile_in_place(module.inner, options)
            except TORCH_ERRORS as error:
                reason = f"torch.compile refused it: {type(error).__name__}: {error}"
        if reason is not None:
            self.book.refuse(self.book.names(_COMPILE), reason)
            return False
        self._compiled.append(weakref.ref(module.inner))
        return True

    def _around(
        self, module: Optimised, dtype: torch.dtype | None, part: nn.Module | None, *, layout: bool
    ) -> Around | None:
        around: Around | None = None
        if dtype is not None:
            around = autocast.under_autocast(
                device_type_of(module.called),
                dtype,
                part,
                self._found_autocast,
                lambda: _AUTOCAST not in self.book.failed,
            )
        return memory_format.inputs_converted(around) if layout else around

    def _found_autocast(self, value: str | None) -> None:
        if value != self.book.asked[_AUTOCAST]:
            self.book.refuse([_AUTOCAST], f"{value or 'another type'} is in force within the forward")
        elif _AUTOCAST not in self.book.failed:
            self.book.seen[_AUTOCAST] = value

    def _alter_call(self, module: Optimised, around: Around, *, compiled: bool) -> None:
        always = compiling_in_place.dynamo_error() if compiled else None

        def proven() -> None:
            if compiled and any(each() is module.inner for each in self._compiled):
                self._prove_compiled()

        def undo(reason: str) -> None:
            self._undo(module, reason, compiled=compiled)

        alter_call(module.called, around, proven, undo, always)

    # what came of it

    def _prove_compiled(self) -> None:
        graphs = compiling_in_place.graphs_compiled()
        if graphs is not None and graphs <= self._graphs_before:
            self.book.refuse(self.book.names(_COMPILE), "torch.compile made no graph of the module")
            return
        for name in self.book.names(_COMPILE):
            self.book.seen[name] = self.book.asked[name]

    def _undo(self, module: Optimised, reason: str, *, compiled: bool) -> None:
        if compiled:
            compiling_in_place.take_back(module.inner)
            self._compiled = [each for each in self._compiled if each() is not module.inner]
        if self._scale is not None:
            self._scale.end()
        if _LAYOUT in self.book.of_modules():
            memory_format.convert(module.inner, torch.contiguous_format)
        self.book.refuse(self.book.of_modules(), reason)


def _as_it_is(own: Foreign, args: tuple[Foreign, ...], kwargs: dict[str, Foreign]) -> Foreign:
    return own(*args, **kwargs)
