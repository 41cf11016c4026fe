"""Loss scaling for fp16 autocast, where the script has no GradScaler; the script's gradients are as ever.

The backward starts from the scaled loss, and the gradients are divided right after it: clipping and logging
of the script see true gradients. A scale is a power of two, so nothing is rounded by it. Gradients of earlier
micro-batches are scaled before the next backward adds to them. A step with gradients that are not finite is
left out, as GradScaler does; its factors are those of torch.amp.GradScaler.
"""

import functools
import inspect
import weakref
from collections.abc import Callable
from threading import get_ident

import torch

from perftui.trainer.probe.altering.called_modules import in_backward
from perftui.trainer.probe.altering.method_for import method_for
from perftui.trainer.probe.altering.optimised_modules import Optimised, sharded_by
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.live_objects import live_objects

_FIRST_SCALE = 2.0**16
_BACKOFF = 0.5
_GROWTH = 2.0
_GROWS_AFTER = 2000


_ANOTHER = "the script has built another optimizer, and which loss is whose cannot be told: use bf16"
_CLOSURE = "the optimizer is given a closure, and no step of it can be left out: use bf16"


def why_not_scaled(
    optimizer: torch.optim.Optimizer,
    modules: list[Optimised],
    optimizers: int,
    world_size: int,
    *,
    closure: bool = False,
) -> str | None:
    """Return why losses of such a script cannot be scaled from outside; None when they can.

    Args:
        optimizer: about to step for the first time.
        modules: whose parameters it has.
        optimizers: how many are alive.
        world_size: ranks that train together.
        closure: the step about to begin is given one.
    """
    parameters = _parameters(optimizer)
    if closure:
        return _CLOSURE
    if in_backward():
        return "the optimizer steps within the backward, where gradients are scaled still"
    if optimizers > 1:
        return f"the script has {optimizers} optimizers, and which loss is whose cannot be told: use bf16"
    if any(sharded_by(module.called) for module in modules):
        return "the parameters are sharded (FSDP), and all ranks must leave out the same steps: use bf16"
    if world_size > 1 and not all(module.wrapped for module in modules):
        return "ranks without DistributedDataParallel must agree on the steps that are left out: use bf16"
    if any(_hooked(parameter) for parameter in parameters):
        return "the script has hooks on gradients, which would see scaled ones: use bf16"
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if any(gradient.is_sparse for gradient in gradients):
        return "there are sparse gradients: use bf16"
    if len({gradient.device for gradient in gradients}) != 1:
        return "the gradients are on several devices: use bf16"
    return None


def _hooked(parameter: torch.Tensor) -> bool:
    return bool(
        getattr(parameter, "_backward_hooks", None) or getattr(parameter, "_post_accumulate_grad_hooks", None)
    )


def _parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _gradients(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [p.grad for p in _parameters(optimizer) if p.grad is not None]


class LossScale:
    """Scales the losses of one optimizer.

    Args:
        optimizer: whose steps may be left out.
        left_out: told of each step that is.
        given_up: told why scaling had to end; the training goes on without it.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        left_out: Callable[[], None],
        given_up: Callable[[str], None],
    ) -> None:
        self.scale = _FIRST_SCALE
        self._optimizer = weakref.ref(optimizer)  # what stands round torch's backward stays for good
        self._left_out, self._given_up = left_out, given_up
        self._thread = get_ident()
        self._on = True
        self._good_steps = 0
        device = next(p.grad.device for p in _parameters(optimizer) if p.grad is not None)
        self._not_finite = torch.zeros((), device=device)

    def install(self) -> None:
        """Stand round the backward and the optimizer's step."""
        self._patch_backward()
        optimizer = self._optimizer()
        if optimizer is not None:
            self._patch_step(optimizer)

    def end(self) -> None:
        """Scale no more."""
        self._on = False

    def _patch_backward(self) -> None:
        original: Callable[..., None] = torch.autograd.backward
        signature = inspect.signature(original)

        @functools.wraps(original)
        def backward(*args: Foreign, **kwargs: Foreign) -> None:
            optimizer = self._optimizer()
            if optimizer is None or not self._on or get_ident() != self._thread or in_backward():
                original(*args, **kwargs)
                return
            bound = signature.bind(*args, **kwargs).arguments
            tensors = bound.pop("tensors")
            roots = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
            alone = all(each is optimizer for each in live_objects.optimizers.all())
            reason = _why_not_these(roots, bound) if alone else _ANOTHER
            if reason is not None:
                self.end()
                self._given_up(reason)
                original(*args, **kwargs)
                return
            given = bound.pop("grad_tensors", None)
            starts = self._scaled(roots, given)
            earlier = _gradients(optimizer)
            if earlier:
                torch._foreach_mul_(earlier, self.scale)
            try:
                original(roots, starts, **bound)
            finally:
                self._unscale(optimizer)

        torch.autograd.backward = backward

    def _scaled(self, roots: tuple[torch.Tensor, ...], given: Foreign) -> tuple[torch.Tensor, ...]:
        starts: tuple[Foreign, ...]
        if given is None:
            starts = (None,) * len(roots)
        else:
            starts = (given,) if isinstance(given, torch.Tensor) else tuple(given)
        return tuple(
            torch.full_like(root, self.scale) if start is None else start * self.scale
            for root, start in zip(roots, starts, strict=True)
        )

    def _unscale(self, optimizer: torch.optim.Optimizer) -> None:
        inverse = torch.full_like(self._not_finite, 1.0 / self.scale)
        gradients = _gradients(optimizer)
        if gradients:
            # private, and what GradScaler calls since torch 1.6
            torch._amp_foreach_non_finite_check_and_unscale_(gradients, self._not_finite, inverse)

    def _patch_step(self, optimizer: Foreign) -> None:
        original: Callable[..., Foreign] = optimizer.step

        def step(_self: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
            if not self._on:
                return original(*args, **kwargs)
            if (args[0] if args else kwargs.get("closure")) is not None:
                self.end()
                self._given_up(_CLOSURE)
                return original(*args, **kwargs)
            if self._overflowed():
                self.scale *= _BACKOFF
                self._good_steps = 0
                self._left_out()
                return None
            self._good_steps += 1
            if self._good_steps >= _GROWS_AFTER:
                self.scale *= _GROWTH
                self._good_steps = 0
            return original(*args, **kwargs)

        optimizer.step = method_for(optimizer, original, step)

    def _overflowed(self) -> bool:
        found = bool(self._not_finite.item())  # waits for the GPU, as GradScaler does
        if found:
            self._not_finite.zero_()
        return found


def _why_not_these(roots: tuple[Foreign, ...], arguments: dict[str, Foreign]) -> str | None:
    if arguments.get("create_graph"):
        return "a backward with create_graph=True differentiates gradients that are scaled: use bf16"
    if not all(isinstance(root, torch.Tensor) for root in roots):
        return "a backward starts from edges of the graph, which cannot be scaled: use bf16"
    if arguments.get("grad_variables") is not None:
        return "a backward uses grad_variables, which torch has given up: use bf16"
    return None
