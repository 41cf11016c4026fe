"""Steps that the script itself tells: waited for at first, then the only ones. No torch.

Apart from the step clock because a script may say that it would tell and never do: what would have been steps
is kept until it does, and let go when it does not.
"""

from perftui.trainer.probe.step_parts import Part

HELD_FOR_SCRIPT = 64
"""So many steps without a word from a script that said it would tell: then we do."""


class ScriptSteps:
    """What the script has said of its steps.

    Attributes:
        expecting: it will tell, and has not yet.
        explicit: it has told, and from then on only it does.
        kept: what would have been steps meanwhile.
    """

    def __init__(self) -> None:
        self.expecting = self.explicit = False
        self.kept: list[Part] = []

    @property
    def any(self) -> bool:
        """Whether it has a say."""
        return self.expecting or self.explicit or bool(self.kept)

    def keep(self, part: Part) -> list[Part]:
        """Keep a part; return those to let go as the script does not tell."""
        self.kept.append(part)
        return self.give_up() if len(self.kept) >= HELD_FOR_SCRIPT else []

    def give_up(self) -> list[Part]:
        """Wait no longer: return what was kept."""
        self.expecting = False
        kept, self.kept = self.kept, []
        return kept

    def tell(self) -> list[Part]:
        """It tells: return what was kept until now."""
        self.explicit = True
        return self.give_up()
