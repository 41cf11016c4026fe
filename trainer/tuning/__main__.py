"""`python -m perftui.trainer.tuning RUN_ID [--after]`: carries out the plan in the run's folder, for its hub.

Progress goes to `relaunch.json`. SIGTERM gives up: the trial is stopped, the original started again. Trials
end with this process, however it ends. `--after` is for when it was killed: the original is started again.
"""

import signal
import sys
import threading

import msgspec

from perftui.ipc.errors import PerftuiError, UsageError
from perftui.ipc.places import RunPlaces, run_places
from perftui.ipc.run_files import read_record, write_record
from perftui.ipc.view import RelaunchView
from perftui.trainer.tuning.going_live import bring_back
from perftui.trainer.tuning.hub_watch import HubWatch
from perftui.trainer.tuning.plan import AFTER, RelaunchPlan, plan_path
from perftui.trainer.tuning.relaunch import relaunch


class _Progress:
    """Writes the view to where the hub reads it."""

    def __init__(self, places: RunPlaces) -> None:
        self._path = places.relaunch
        self.view: RelaunchView | None = None

    def report(self, view: RelaunchView) -> None:
        self.view = view
        try:
            write_record(self._path, view)
        except OSError as error:  # a full disk must not keep the training from being started again
            sys.stderr.write(f"{self._path}: {error.strerror}; {view.state}: {view.message}\n")

    def close(self) -> None:
        """Leave no relaunch that looks as if it went on."""
        if self.view is not None and self.view.state not in ("done", "failed"):
            message = "the tuner broke off; see tuner.log in the run's folder"
            self.report(msgspec.structs.replace(self.view, state="failed", message=message))


def carry_out(run_id: str) -> int:
    """Carry out the plan of a run, and return the exit code.

    Raises:
        PerftuiError: no such run, no plan, or a refusal.
    """
    given_up = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: given_up.set())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    places = run_places(run_id)
    plan = read_record(plan_path(places), RelaunchPlan)
    if plan is None:
        raise UsageError(f"{plan_path(places)}: no plan there")
    progress, hub = _Progress(places), HubWatch(places)
    hub.start()
    try:
        view = relaunch(plan, progress.report, given_up.is_set)
    finally:
        hub.close()
        progress.close()
    return 0 if view.state == "done" else 1


def main() -> int:
    """Run as a command."""
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], [AFTER]):
        sys.stderr.write(f"usage: python -m perftui.trainer.tuning RUN_ID [{AFTER}]\n")
        return UsageError.exit_code
    try:
        if sys.argv[2:] == [AFTER]:
            sys.stderr.write(f"{bring_back(sys.argv[1]) or 'nothing was broken off'}\n")
            return 1
        return carry_out(sys.argv[1])
    except PerftuiError as error:
        sys.stderr.write(f"perftui: {error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
