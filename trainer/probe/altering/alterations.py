"""All settings of this process but for those of loaders: what is patched when torch has been imported."""

from collections.abc import Callable

import torch

from perftui.trainer.probe.altering import autocast, memory_format
from perftui.trainer.probe.altering.book import AlterationBook
from perftui.trainer.probe.altering.ddp_arguments import patch_ddp
from perftui.trainer.probe.altering.first_steps import FirstSteps
from perftui.trainer.probe.altering.optimizer_arguments import patch_optimizers
from perftui.trainer.probe.altering.switches import keep_anomaly, keep_launch_blocking
from perftui.trainer.probe.border import Border

_LAYOUT = "layout.channels_last"


class Alterations:
    """What was asked of this process, and what came of it.

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
        self.book = book
        for name, install in (
            ("switches", self._keep_switches),
            ("autocast", self._keep_autocast),
            ("optimizers", self._patch_optimizers),
            ("ddp", self._patch_ddp),
        ):
            border.guard(f"settings: {name}", install)()
        self.first_steps = FirstSteps(book, border, step_left_out)

    def _keep_switches(self) -> None:
        asked = self.book.asked
        if "debug.anomaly" in asked:
            keep_anomaly(bool(asked["debug.anomaly"]))
        if "debug.launch_blocking" in asked:
            keep_launch_blocking(bool(asked["debug.launch_blocking"]))

    def _keep_autocast(self) -> None:
        if self.book.asked.get("precision.autocast") == "off":
            autocast.switch_off()

    def _patch_optimizers(self) -> None:
        if self.book.names("optimizer."):
            patch_optimizers(self.book)

    def _patch_ddp(self) -> None:
        layout = _LAYOUT in self.book.of_modules()
        if layout or self.book.names("ddp."):
            patch_ddp(self.book, self._before_wrapping if layout else None)

    def _before_wrapping(self, module: torch.nn.Module) -> None:
        """Lay out parameters before buckets are made of them."""
        memory_format.convert(module, torch.channels_last)
