"""Tells how a relaunch goes: one `RelaunchView`, rebuilt at each change and handed to whoever shows it."""

import time
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.settings import Settings
from perftui.ipc.view import LaunchProgress, RelaunchView
from perftui.trainer.tuning.measure import Progress
from perftui.trainer.tuning.regression import Label
from perftui.trainer.tuning.standing import Standing, told_progress

State: TypeAlias = Literal["stopping", "measuring", "starting", "done", "failed"]
_EVERY_S = 0.5


class Reporter:
    """Holds the view; steps of a launch are told twice a second, everything else at once."""

    def __init__(
        self,
        relaunch_id: str,
        change: Settings,
        report: Callable[[RelaunchView], None],
        most_launches: int = 4,
    ) -> None:
        self._report = report
        self._told_at = 0.0
        self.view = RelaunchView(
            relaunch_id=relaunch_id, state="stopping", set=change, before={}, most_launches=most_launches
        )

    def before(self, settings: Settings) -> None:
        """Note the values that the change replaces."""
        self._replace(before=settings)

    def say(self, state: State, message: str) -> None:
        """Tell what is being done."""
        self._replace(state=state, message=message)

    def launching(self, label: Label) -> None:
        """Add a launch."""
        waiting = LaunchProgress(label=label, state="waiting")
        self._replace(launches=[*self.view.launches, waiting])

    def progress(self) -> Progress:
        """Return what to call as the newest launch goes on."""

        def tell(stands: Standing) -> None:
            last = self.view.launches[-1]
            now = time.monotonic()
            if stands.stage != last.state or now - self._told_at >= _EVERY_S:
                self._told_at = now
                self._newest(told_progress(last.label, stands))

        return tell

    def launched(self, launch: Launch) -> None:
        """Put what was measured in the place of the newest launch."""
        self._newest(
            LaunchProgress(
                label=launch.label,
                state="failed" if launch.log_step_s is None else "done",
                steps=launch.steps,
                step_ms=launch.step_ms,
                launch=launch,
                elapsed_s=launch.wall_s,
            )
        )

    def verdict(self, verdict: Verdict) -> None:
        """Tell the verdict, while the training is started again."""
        self._replace(verdict=verdict)

    def successor(self, run_id: str) -> None:
        """Tell which run goes on."""
        self._replace(successor=run_id)

    def _newest(self, launch: LaunchProgress) -> None:
        self._replace(launches=[*self.view.launches[:-1], launch])

    def _replace(self, **fields: object) -> None:
        self.view = msgspec.structs.replace(self.view, **fields)
        self._report(self.view)
