"""The trials of one change, A B (B A), up to its verdict; no processes, no files."""

from dataclasses import dataclass, field

import msgspec

from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.settings import Settings
from perftui.trainer.tuning.judge import failed_verdict, judge
from perftui.trainer.tuning.loss_check import NOT_COMPARABLE, check_losses
from perftui.trainer.tuning.next_trial import next_trial
from perftui.trainer.tuning.regression import Label, Noise
from perftui.trainer.tuning.trials import Trial


@dataclass
class Trials:
    """What has been measured so far."""

    before: Settings
    after: Settings
    noise: Noise
    cpus: float
    """Effective cores of this host."""
    most_launches: int
    semantics: str = "neutral"
    """Of the change."""
    bound: float | None = None
    """The largest speed-up that the change can bring, as a factor; None: not known."""
    done: list[Trial] = field(default_factory=list[Trial])

    @property
    def launches(self) -> list[Launch]:
        """The launches, in wall order."""
        return [trial.launch for trial in self.done]

    def next_label(self) -> Label | None:
        """Return which setting to launch next; None when a verdict stands."""
        losses = [trial.losses for trial in self.done]
        return next_trial(
            self.launches, losses, self.semantics, self.noise, self.cpus, self.most_launches, self.bound
        )

    def settings_of(self, label: Label) -> Settings:
        """Return the settings that a label stands for."""
        return self.after if label == "B" else self.before

    def verdict(self) -> Verdict:
        """Return the verdict, with the losses compared; a numeric change that spoils them has failed."""
        verdict = judge(self.launches, self.noise, self.cpus, semantics=self.semantics)
        if verdict.verdict == "failed":
            return verdict
        if self.semantics == "changes-training":
            return msgspec.structs.replace(verdict, loss=NOT_COMPARABLE.words)
        check = check_losses(self._losses("A"), self._losses("B"))
        if self.semantics == "numeric" and check.agrees is False and verdict.verdict in ("faster", "same"):
            why = f"with the change the loss is another one, so it is not kept: {check.words}"
            spoilt = failed_verdict(f"{why}; speed: {verdict.sentence}", self.launches)
            return msgspec.structs.replace(spoilt, loss=check.words, loss_agrees=False, notes=verdict.notes)
        return msgspec.structs.replace(verdict, loss=check.words, loss_agrees=check.agrees)

    def _losses(self, label: str) -> list[dict[int, float]]:
        return [trial.losses for trial in self.done if trial.launch.label == label]
