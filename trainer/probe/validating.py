"""How the script validates: where it goes through a loader without gradients, or sets its model to evaluate.

Noted once a validation, where a loader makes an iterator or `eval()` is called; nothing runs in its loop.
"""

import sys
from types import FrameType

import torch

from perftui.ipc.loader_facts import ValidatingFacts
from perftui.ipc.messages import LoaderFacts
from perftui.trainer.probe.own_places import place_of_call


class Validating:
    """What is known of the newest validation; noted in the training thread, read in another."""

    def __init__(self) -> None:
        self.facts: ValidatingFacts | None = None

    def iterated(self, loader: LoaderFacts | None) -> None:
        """A loader begins to be gone through: without gradients it is no training's."""
        if torch.is_grad_enabled():
            return
        self.facts = ValidatingFacts(
            at=place_of_call(sys._getframe(1)),
            without_gradients=True,
            num_workers=None if loader is None else loader.num_workers,
            batch_size=None if loader is None else loader.batch_size,
        )

    def evaluates(self, caller: FrameType) -> None:
        """The model is set to evaluate: that is where, as long as no loader has told better."""
        if self.facts is None or not self.facts.without_gradients:
            self.facts = ValidatingFacts(at=place_of_call(caller))
