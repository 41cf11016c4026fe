"""The explicit way in: a script that says itself where its steps end.

from perftui.trainer import watch

w = watch()
for batch in batches:
...
w.step(samples=len(batch))
"""

from perftui.trainer.probe import install


class Watch:
    """Tells the probe of each step. Does nothing, at no cost worth naming, when PERFTUI_OFF=1."""

    def __init__(self) -> None:
        probe = install.install(explicit=True)
        self._step = None
        if probe is not None:
            probe.border.guard("watch", probe.recorder.expect_steps)()
            self._step = probe.border.guard("step", probe.recorder.explicit_step)

    def step(self, samples: int | None = None) -> None:
        """A step of this training is over.

        Args:
            samples: how many it trained on; None leaves it to what the loader's batches say.
        """
        if self._step is not None:
            self._step(samples)


def watch() -> Watch:
    """Watch this training: attaches it to its run, or starts a hub for it when there is none."""
    return Watch()
