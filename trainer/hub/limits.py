"""`--steps` and `--seconds`: when a run has run long enough past its warm-up."""

from perftui.ipc.run_files import RunDescription
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.step_log import WARM_STEPS

_WARM_UP_MAX_S = 60.0


class Limits:
    """Watches one run against its limits. Warm-up counts for at most 60 s."""

    def __init__(self, description: RunDescription) -> None:
        self._description = description
        self._warm_unix: float | None = None

    def reached(self, fold: RunFold, now: float) -> str | None:
        """Return `steps` or `seconds` when that limit has been reached."""
        steps, seconds = self._description.steps_limit, self._description.seconds_limit
        if steps is None and seconds is None:
            return None
        self._note_warm(fold, now)
        if steps is not None and fold.ranks and fold.steps_done() >= WARM_STEPS + steps:
            return "steps"
        if seconds is not None and self._warm_unix is not None and now - self._warm_unix >= seconds:
            return "seconds"
        return None

    def past_warm_s(self, fold: RunFold, now: float) -> float | None:
        """Return the time since the warm-up; None: it goes on."""
        self._note_warm(fold, now)
        return None if self._warm_unix is None else now - self._warm_unix

    def _note_warm(self, fold: RunFold, now: float) -> None:
        if self._warm_unix is not None:
            return
        latest = self._description.started_unix + _WARM_UP_MAX_S
        if fold.ranks and fold.steps_done() >= WARM_STEPS:
            ends = [(t.log.warm_end_ns or t.log.raw[0].end_ns) + t.hello.wall_offset_ns for t in fold.ordered]
            self._warm_unix = min(max(ends) / 1e9, latest)
        elif now >= latest:
            self._warm_unix = latest
