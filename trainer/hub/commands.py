"""Commands on a live run: each is answered at once, accepted or refused, and later done with a result."""

from typing import TYPE_CHECKING

from perftui.ipc.dashboard_messages import (
    Answer,
    CancelCommand,
    CancelProfileCommand,
    Command,
    Done,
    ProfileCommand,
    RelaunchCommand,
    SeekCommand,
    StopCommand,
    SummaryQuery,
)
from perftui.ipc.errors import PerftuiError, Refused
from perftui.ipc.run_files import write_record
from perftui.ipc.settings import check_together, check_values
from perftui.trainer.hub.served import Reply
from perftui.trainer.tuning.plan import RelaunchPlan, caps_of, plan_path
from perftui.trainer.tuning.subject import not_on_all_hosts, not_owned

if TYPE_CHECKING:
    from perftui.trainer.hub.live_run import LiveRun


class Commands:
    """Carries out what dashboards ask of one live run."""

    def __init__(self, run: "LiveRun") -> None:
        self._run = run
        self._relaunch_asked: tuple[bytes, str] | None = None

    def take(self, command: Command, peer: bytes) -> list[Reply]:
        """Carry out a command or begin to; a refusal changes nothing."""
        try:
            result = self._carry_out(command, peer)
        except (PerftuiError, OSError) as error:  # a full disk, say, must not end the hub
            return [Reply(peer, Answer(command_id=command.command_id, accepted=False, reason=str(error)))]
        replies = [Reply(peer, Answer(command_id=command.command_id, accepted=True))]
        if result is not None:
            replies.append(Reply(peer, Done(command_id=command.command_id, ok=True, result=result)))
        return replies

    def _carry_out(self, command: Command, peer: bytes) -> str | None:
        """Return the result, or None when it comes later."""
        if isinstance(command, SummaryQuery):
            return self._run.summary_bytes().decode()
        if isinstance(command, SeekCommand):
            raise Refused("this run is live: only a replay can be sought in")
        if isinstance(command, ProfileCommand):
            self._check_leads()
            self._run.windows.begin(command, peer)
            return None
        if isinstance(command, CancelProfileCommand):
            return f"window {self._run.windows.cancel()} is cancelled"
        if isinstance(command, StopCommand):
            return self._stop()
        if isinstance(command, RelaunchCommand):
            self._relaunch(command, peer)
            return None
        return self._cancel(command)

    def _check_leads(self) -> None:
        hosts = self._run.description.hosts
        if hosts is not None and hosts.role == "member":
            raise Refused(
                f"this is one host of a run over several: open the window on {hosts.host}, which leads, so "
                "that all ranks record the same steps"
            )

    def _stop(self) -> str:
        if not self._run.description.owned:
            raise Refused("this run was not started by `perftui run`: it cannot be stopped from here")
        if self._run.over:
            raise Refused("the training has ended already")
        self._run.request_stop("user")
        return "stopping"

    def _relaunch(self, command: RelaunchCommand, peer: bytes) -> None:
        if not self._run.description.owned:
            raise Refused(not_owned(self._run.description, command.set))
        if self._run.description.hosts is not None:
            raise Refused(not_on_all_hosts(self._run.description, command.set))
        if self._run.busy:
            raise Refused("a relaunch or a profiling window is going on; wait for its end")
        check_values(command.set, self._run.description.arguments)
        check_together(command.set)
        plan = RelaunchPlan(
            run_id=self._run.description.run_id,
            set=command.set,
            trial=command.trial,
            finding=command.finding,
            bound=command.bound,
            expected=command.expected,
            most_s=command.most_s,
            caps=caps_of(self._run.description.trial_seconds),
        )
        write_record(plan_path(self._run.places), plan)
        self._run.start_tuner()
        self._relaunch_asked = (peer, command.command_id)

    def _cancel(self, command: CancelCommand) -> str:
        if not self._run.tuner.runs:
            raise Refused(f"no relaunch goes on (command {command.command_id})")
        self._run.tuner.cancel()
        return "cancelling"

    def finished_windows(self) -> list[Reply]:
        """Return the results of profiling windows that have just ended."""
        replies: list[Reply] = []
        for peer, ident, view in self._run.windows.tick():
            ok = view.state == "done"
            done = Done(command_id=ident, ok=ok, result=view.sentence or "", profile=view)
            replies.append(Reply(peer, done))
        return replies

    def finished_relaunch(self) -> list[Reply]:
        """Return the result of a relaunch that has just ended."""
        tuner = self._run.tuner
        if self._relaunch_asked is None or not tuner.known or tuner.runs:
            return []
        peer, ident = self._relaunch_asked
        self._relaunch_asked = None
        view = self._run.relaunch()
        ok = tuner.succeeded and view is not None and view.state == "done"
        words = view.verdict.sentence if view and view.verdict else (view.message if view else None)
        done = Done(command_id=ident, ok=ok, result=words or "the relaunch ended without a word")
        return [Reply(peer, done)]
