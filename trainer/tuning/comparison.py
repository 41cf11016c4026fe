"""The trials of one change, A B (B A), up to its verdict; no processes, no files."""

from dataclasses import dataclass, field

import msgspec

from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.settings import Settings
from perftui.trainer.tuning.judge import judge, next_launch
from perftui.trainer.tuning.regression import Label, Noise
from perftui.trainer.tuning.trials import Trial
from perftui.trainer.tuning.wording import loss_words


@dataclass
class Trials:
    """What has been measured so far."""

    before: Settings
    after: Settings
    noise: Noise
    cpus: float
    """Effective cores of this host."""
    most_launches: int
    done: list[Trial] = field(default_factory=list[Trial])

    @property
    def launches(self) -> list[Launch]:
        """The launches, in wall order."""
        return [trial.launch for trial in self.done]

    def next_label(self) -> Label | None:
        """Return which setting to launch next; None when a verdict stands."""
        return next_launch(self.launches, self.noise, self.cpus, self.most_launches)

    def settings_of(self, label: Label) -> Settings:
        """Return the settings that a label stands for."""
        return self.after if label == "B" else self.before

    def verdict(self) -> Verdict:
        """Return the verdict, with the losses compared."""
        verdict = judge(self.launches, self.noise, self.cpus)
        if verdict.verdict == "failed":
            return verdict
        before, after = (self._losses(label) for label in ("A", "B"))
        return msgspec.structs.replace(verdict, loss=loss_words(before, after, same_seed=True))

    def _losses(self, label: str) -> dict[int, float]:
        return next((trial.losses for trial in self.done if trial.launch.label == label), {})
