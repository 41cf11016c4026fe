"""An optimizer that steps once for each of its parameter groups, as DeepSpeed's ZeRO has it. No torch.

Apart from the step clock because it looks like a loop without a loader: the same optimizer, again and again.
But no backward came between, though one came before. So the parts are held until one comes, and joined. Where
none comes for long the backwards have gone out of sight (they are replayed from a CUDA graph), and each part
is a step after all.

It steps so before the training as well, to have its states made: that is no step at all.
"""

from perftui.trainer.probe.step_parts import Part, joined

GROUPS_MOST = 512
"""Parameter groups of an optimizer. ZeRO-3 has one for each 10^9 parameters, others two for each layer."""
MADE_MOST = 64
"""The same before anything else was seen: a loop without backwards and loader is not to be hidden long."""


class GroupSteps:
    """Holds the parts that end with an optimizer's step, all after one backward.

    Attributes:
        parts: those that are held.
        making: neither fetch nor backward was seen yet.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.making = True

    def hold(self, part: Part, *, inside: bool) -> bool:
        """Hold a part whose optimizer steps again at once; False if no backward came before either.

        Args:
            part: it has ended.
            inside: a backward goes on, of which the optimizer is a part.
        """
        if not (part.backwards or self.parts or inside or self.making):
            return False
        self.parts.append(part)
        return True

    def join(self, part: Part) -> Part:
        """Return a part with those before it that belong to the same step."""
        if not self.parts:
            return part
        parts, self.parts = self.parts, []
        return joined([*parts, part])

    def lost(self) -> list[Part]:
        """Return the parts if there are too many to be one step: none is held then."""
        if len(self.parts) < (MADE_MOST if self.making else GROUPS_MOST):
            return []
        self.making = False
        parts, self.parts = self.parts, []
        return parts

    def forget(self) -> None:
        """Events were lost: hold nothing."""
        self.parts.clear()
        self.making = False

    def training_begins(self, part: Part | None) -> Part | None:
        """The first fetch or backward: return the open part, None if it was no part of the training."""
        self.making = False
        if part is None or not part.stepped or part.backwards:
            return part
        self.parts.clear()
        return None
