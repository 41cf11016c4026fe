"""Sends a relaunch to a run's hub and follows it to its end, as lines of text.

The hub may be restarted meanwhile, or end soon after the relaunch; its file tells the same, so that is asked
when the hub is silent.
"""

import time
from collections.abc import Callable

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import Answer, CancelCommand, Done, RelaunchCommand, Update
from perftui.ipc.errors import ConnectionLost, Refused
from perftui.ipc.harmless import harmless
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import read_record
from perftui.ipc.view import LaunchProgress, RelaunchView
from perftui.trainer.tuning.standing import time_words

_ANSWER_S = 10.0
_PULL_S = 0.5
_SILENT_S = 3.0
_ENDED = ("done", "failed")
_WHY_EVERY_S = 60.0
_NO_VIEW_S = 60.0


class ProgressLines:
    """Turns views into lines: one for each thing that is new."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write: Callable[[str], object] = lambda text: write(harmless(text))
        self._message: str | None = None
        self._states: dict[int, str] = {}
        self._minutes: dict[int, int] = {}

    def take(self, view: RelaunchView) -> None:
        """Write what is new in a view."""
        for place, launch in enumerate(view.launches):
            if self._states.get(place) != launch.state:
                self._states[place] = launch.state
                if launch.state in ("measuring", "done", "failed"):
                    self._write(f"  {_launch_words(place, launch)}\n")
            self._take_why(place, launch)
        if view.message and view.message != self._message:
            self._message = view.message
            self._write(f"{view.message}\n")
            if view.state in _ENDED:
                self._write_end(view)

    def _take_why(self, place: int, launch: LaunchProgress) -> None:
        """Say once a minute why a launch goes on."""
        minute = int((launch.elapsed_s or 0.0) // _WHY_EVERY_S)
        if launch.state == "measuring" and launch.why and minute > self._minutes.get(place, 0):
            self._minutes[place] = minute
            self._write(f"  {_launch_words(place, launch)}; {launch.why}\n")

    def _write_end(self, view: RelaunchView) -> None:
        if view.verdict is not None:
            self._write(f"verdict: {view.verdict.verdict.replace('_', ' ')}\n")
            if view.verdict.loss:
                self._write(f"{view.verdict.loss}\n")
            for note in view.verdict.notes:
                self._write(f"{note}\n")
        if view.successor:
            self._write(f"the training goes on as {view.successor}\n")


def _launch_words(place: int, progress: LaunchProgress) -> str:
    what = f"launch {place + 1} {progress.label}"
    if progress.state == "failed":
        note = progress.launch.note if progress.launch else None
        return f"{what}: failed ({note or 'no reason known'})"
    speed = "" if progress.step_ms is None else f", {progress.step_ms:.1f} ms a step"
    time = f", {time_words(progress.elapsed_s, progress.limit_s)}" if progress.elapsed_s is not None else ""
    return f"{what}: {progress.state}, {progress.steps} steps{speed}{time}"


class FollowRelaunch:
    """One relaunch by the hub of a live run.

    Args:
        places: of the run.
        command: what to do.
        take: given every view.
    """

    def __init__(
        self, places: RunPlaces, command: RelaunchCommand, take: Callable[[RelaunchView], None]
    ) -> None:
        self._places, self._command, self._take = places, command, take
        self._view: RelaunchView | None = None
        self._old_id = _id_of(read_record(places.relaunch, RelaunchView))
        self._answered = False
        self._done: Done | None = None

    def follow(self) -> RelaunchView:
        """Return the last view.

        Raises:
            Refused: the hub declined, or the tuner did before it changed anything.
            ConnectionLost: the hub does not answer, or the relaunch leaves no trace.
        """
        link = DashboardLink(self._places.dashboard_socket)
        try:
            link.command(self._command)
            return self._to_the_end(link)
        except KeyboardInterrupt:
            link.command(CancelCommand(command_id=new_command_id()))
            self._answered = True
            return self._to_the_end(link)
        finally:
            link.close()

    def _to_the_end(self, link: DashboardLink) -> RelaunchView:
        began = heard = time.monotonic()
        while True:
            link.pull()
            if self._receive(link):
                heard = time.monotonic()
            elif time.monotonic() - heard > _SILENT_S and self._answered:
                self._note(read_record(self._places.relaunch, RelaunchView))
            if self._view is not None and self._view.state in _ENDED:
                return self._view
            self._check_patience(began)

    def _receive(self, link: DashboardLink) -> bool:
        """Take what comes within a pull's time; False when nothing did."""
        until = time.monotonic() + _PULL_S
        heard = False
        while (left := until - time.monotonic()) > 0:
            message = link.receive(max(1, int(left * 1000)))
            heard = heard or message is not None
            if isinstance(message, Update):
                self._note(message.view.relaunch)
            elif isinstance(message, Answer) and message.command_id == self._command.command_id:
                if not message.accepted:
                    raise Refused(message.reason or "the hub declined without a reason")
                self._answered = True
            elif isinstance(message, Done) and message.command_id == self._command.command_id:
                self._done = message
                self._note(read_record(self._places.relaunch, RelaunchView))
        return heard

    def _note(self, view: RelaunchView | None) -> None:
        """Take a view in, unless it is of the relaunch before this one."""
        if view is None or not self._answered or view.relaunch_id == self._old_id:
            return
        self._view = view
        self._take(view)

    def _check_patience(self, began: float) -> None:
        now = time.monotonic()
        if not self._answered and now - began > _ANSWER_S:
            raise ConnectionLost(f"the hub of {self._places.run_id} did not answer; nothing was changed")
        if self._view is None and self._done is not None:
            raise Refused(self._done.result or "the relaunch ended without a word")
        if self._view is None and now - began > _NO_VIEW_S:
            raise ConnectionLost(
                f"the relaunch of {self._places.run_id} has left no trace; see its tuner.log"
            )


def _id_of(view: RelaunchView | None) -> str | None:
    return view.relaunch_id if view else None
