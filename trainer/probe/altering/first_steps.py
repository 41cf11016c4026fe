"""Puts settings in force round the first step: then all is known that they depend on.

Before an optimizer steps for the first time, its gradients are there, the modules have been called, and no
state of the optimizer has been made. So the first step runs as the script has it, and those after it altered.
"""

from collections.abc import Callable
from threading import get_ident

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from perftui.trainer.probe.altering import ddp_arguments, optimizer_arguments
from perftui.trainer.probe.altering.book import AlterationBook
from perftui.trainer.probe.altering.called_modules import CalledModules
from perftui.trainer.probe.altering.module_alterations import ModuleAlterations, Situation
from perftui.trainer.probe.altering.optimised_modules import optimised_modules
from perftui.trainer.probe.altering.own_functions import functions_behind
from perftui.trainer.probe.altering.second_derivatives import SecondDerivatives, have_graphs
from perftui.trainer.probe.altering.switches import Switches, freeze
from perftui.trainer.probe.border import Border, Foreign
from perftui.trainer.probe.live_objects import live_objects

_STEPS_WATCHED = 64
"""Steps of any optimizers after which no other one is waited for."""
_LOOKS = 2
"""An optimizer that is given a closure steps before the forward: its modules are found at its second step."""
_is_compiling = torch.compiler.is_compiling


class FirstSteps:
    """Follows the optimizers from their first step.

    Args:
        book: what is asked.
        border: round the hooks.
        step_left_out: told of each step that loss scaling leaves out.
    """

    def __init__(
        self,
        book: AlterationBook,
        border: Border,
        step_left_out: Callable[[torch.optim.Optimizer], None],
    ) -> None:
        self.modules = ModuleAlterations(book, step_left_out)
        self._book = book
        self._switches = Switches(book)
        casts = "precision.autocast" in book.of_modules()
        look = border.guard("settings: functions of the script", functions_behind)
        self._called = CalledModules(look if casts else None)
        self._again = SecondDerivatives()
        self._stepped: set[int] = set()
        """Optimizers whose modules have been altered, or searched for in vain."""
        self._looked: dict[int, int] = {}
        self._steps = 0
        self._watching = bool(book.of_modules())
        self._frozen = "gc.freeze" not in book.asked
        self._handles: list[Foreign] = []
        if self._watching:
            self._called.install()
        if any(name.startswith("compile.") for name in book.of_modules()):
            border.guard("settings: second derivatives", self._again.install)()
        before = border.guard("settings before a step", self._before)
        after = border.guard("settings after a step", self._after)

        def before_step(optimizer: torch.optim.Optimizer, args: Foreign, kwargs: Foreign) -> None:
            if not _is_compiling():
                before(optimizer, args, kwargs)

        def after_step(optimizer: torch.optim.Optimizer, _args: Foreign, _kwargs: Foreign) -> None:
            if not _is_compiling():
                after(optimizer)

        self._handles = [
            register_optimizer_step_pre_hook(before_step),
            register_optimizer_step_post_hook(after_step),
        ]

    @property
    def begun(self) -> bool:
        """Whether an optimizer has stepped."""
        return self._steps > 0

    def _before(self, optimizer: torch.optim.Optimizer, args: Foreign, kwargs: Foreign) -> None:
        if not self._watching or id(optimizer) in self._stepped:
            return
        found = optimised_modules(optimizer, self._called.by_thread(get_ident()))
        if found.modules:
            self._stepped.add(id(optimizer))
            closure = next((argument for argument in args[1:]), kwargs.get("closure")) is not None
            self.modules.alter(found.modules, _situation(optimizer, self._again, closure=closure))
            return
        looked = self._looked[id(optimizer)] = self._looked.get(id(optimizer), 0) + 1
        if looked < _LOOKS:
            return
        self._stepped.add(id(optimizer))
        if not self.modules.any:
            self._book.refuse(self._book.of_modules(), found.reason or "")

    def _after(self, optimizer: torch.optim.Optimizer) -> None:
        self._steps += 1
        if self._steps == 1:
            self._first(optimizer)
        else:
            self._switches.hold()
        if self._watching and (self._all_stepped() or self._steps >= _STEPS_WATCHED):
            self._watching = False
            self._called.remove()
            self._again.remove()
        if not self._watching and not self._switches.any:
            for handle in self._handles:
                handle.remove()
            self._handles.clear()

    def _first(self, optimizer: torch.optim.Optimizer) -> None:
        device = next((p.device for g in optimizer.param_groups for p in g["params"]), torch.device("cpu"))
        self._switches.set_first(device)
        if not self._frozen:
            self._frozen = True
            freeze(bool(self._book.asked["gc.freeze"]))
        if not live_objects.ddp.all():
            self._book.refuse(self._book.names("ddp."), ddp_arguments.NOT_BUILT)
        for name in self._book.names("optimizer."):
            _, reason = optimizer_arguments.read_argument(name, live_objects.optimizers.all())
            if reason is not None:
                self._book.refuse([name], reason)

    def _all_stepped(self) -> bool:
        return all(id(optimizer) in self._stepped for optimizer in live_objects.optimizers.all())


def _situation(optimizer: torch.optim.Optimizer, again: SecondDerivatives, *, closure: bool) -> Situation:
    distributed: Foreign = torch.distributed
    together = distributed.is_available() and distributed.is_initialized()
    return Situation(
        optimizer=optimizer,
        optimizers=len({id(each) for each in live_objects.optimizers.all()}),
        scaler=any(scaler.is_enabled() for scaler in live_objects.scalers.all()),
        world_size=int(distributed.get_world_size()) if together else 1,
        closure=closure,
        differentiated_again=again.seen or have_graphs(optimizer),
    )
