"""A run that is going on: its ranks' messages, its files, its sensors, its commands."""

import contextlib
import os

import msgspec

from perftui.ipc.audit import Actor, note
from perftui.ipc.dashboard_messages import Command
from perftui.ipc.errors import RecordingError
from perftui.ipc.findings import Finding, Unjudged
from perftui.ipc.host_links import HostLink
from perftui.ipc.ledger_records import Verdict
from perftui.ipc.messages import Hello, ToRank
from perftui.ipc.owned_files import OWNER_ONLY
from perftui.ipc.places import RunPlaces, run_places
from perftui.ipc.recording import Entry, RecordingWriter, read_recording
from perftui.ipc.run_clock import RunClock
from perftui.ipc.run_files import ExitRecord, RunDescription, StopRequest, read_record, write_record
from perftui.ipc.units import MIB
from perftui.ipc.view import ProfileView, RelaunchView
from perftui.trainer.diagnosis.in_parts import Parts
from perftui.trainer.hub.commands import Commands
from perftui.trainer.hub.console import OutputTail
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.judge import Judge
from perftui.trainer.hub.limits import Limits
from perftui.trainer.hub.newest_window import NewestWindow
from perftui.trainer.hub.other_hosts import OtherHosts
from perftui.trainer.hub.output_heir import OutputHeir
from perftui.trainer.hub.profile_windows import ProfileWindows
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.recorded_readings import RecordedReadings
from perftui.trainer.hub.scheduler import Scheduler
from perftui.trainer.hub.seen_processes import pid_means_process
from perftui.trainer.hub.sensors import Sensors
from perftui.trainer.hub.served import Reply
from perftui.trainer.hub.standing import standing
from perftui.trainer.hub.step_windows import shares_clock
from perftui.trainer.hub.summaries import summarise
from perftui.trainer.hub.timed_looks import TimedLooks
from perftui.trainer.hub.tuner_process import TunerProcess
from perftui.trainer.hub.views import RunFacts
from perftui.trainer.launch.orphans import end_orphan, is_orphaned
from perftui.trainer.telemetry.processes import start_ticks
from perftui.trainer.telemetry.py_spy import why_unseen

RECORDING_BUDGET_BYTES = 64 * MIB
_SECOND = 1.0
_UNOWNED_END_S = 10.0
_UNHEARD_END_S = 60.0
_FOREIGN_SILENCE_S = 10.0


class LiveRun:
    """State and clockwork of one live run; driven by the service's loop."""

    def __init__(self, places: RunPlaces, description: RunDescription, hub_restarts: int) -> None:
        self.places = places
        self.description = description
        self.clock = RunClock(description)
        self.fold = RunFold(description.host)
        self.output = OutputTail(places.console)
        self.windows = ProfileWindows(self.fold, places.profiles, now=self.clock.unix, host=description.host)
        self.ended: ExitRecord | None = None
        self.recording_note: str | None = None
        self.seats_note: str | None = None
        """Which processes are not shown, and what was not taken from peers; the service knows."""
        self.other_hosts: OtherHosts | None = None
        """The hubs of the run's other hosts; None: it has one, or is not linked to them yet."""
        self.joining_note = None if description.owned else description.note
        """Why it is not."""
        self._stop_note: str | None = None
        self.outbox: list[tuple[int, ToRank]] = []
        """Messages for ranks, by rank; the service sends them."""
        self._hub_restarts = hub_restarts
        self._reload()
        self._recorder = RecordingWriter(
            places.recording, RECORDING_BUDGET_BYTES, lambda: standing(self.fold, self.now())
        )
        self._judge, self._looks = Judge(), TimedLooks()
        self._newest = NewestWindow(places.profiles)
        self._schedule = Scheduler(self.windows, description)
        self._limits = Limits(description)
        self._readings = RecordedReadings()
        self._sensors = Sensors(description)
        self._relaunch = read_record(places.relaunch, RelaunchView)
        self.tuner = TunerProcess(places)
        self._heir = OutputHeir(places)
        self._commands = Commands(self)
        self._lost = False
        self._stepped = False
        self._all_gone_since: float | None = None
        self._next_second = 0.0

    def _reload(self) -> None:
        """Take up where a hub before this one left off."""
        try:
            for entry in read_recording(self.places.recording):
                self.fold.apply(entry)
        except RecordingError as error:
            if any(self.places.recording.glob("*.rec")):
                self.recording_note = str(error)

    # what the server asks

    def now(self) -> float:
        """Return the unix time, by the run's own clock."""
        return self.clock.unix()

    def facts(self) -> RunFacts:
        """Return what files and processes say of the run."""
        return RunFacts(
            description=self.description,
            ended=self.ended,
            stopping=self.ended is None and self.places.stop_request.exists(),
            lost=self._lost,
            successor=self._relaunch.successor if self._relaunch else None,
            hub_pid=os.getpid(),
            hub_restarts=self._hub_restarts,
            message=self._message(),
        )

    def _message(self) -> str | None:
        if self._recorder.failure and not self._stop_note:
            return f"recording: {self._recorder.failure} ({self._recorder.failed_entries} entries lost)"
        links = self.other_hosts.note if self.other_hosts is not None else self.joining_note
        return self._stop_note or self.recording_note or links or self.seats_note

    def findings(self) -> list[Finding]:
        """Return the findings in force."""
        return self._judge.findings

    def unjudged(self) -> list[Unjudged]:
        """Return what could not be judged, and why."""
        return self._judge.unjudged

    def marks(self, rank: int) -> list[str]:
        """Return the codes of findings that point at a rank."""
        return self._judge.marks(rank)

    def profiles(self) -> list[ProfileView]:
        """Return all windows."""
        return self.windows.views()

    def links(self) -> list[HostLink]:
        """Return the run's hosts."""
        return self.other_hosts.links() if self.other_hosts is not None else []

    def relaunch(self) -> RelaunchView | None:
        """Return the relaunch that goes on, or the last."""
        return self._relaunch

    def take(self, command: Command, peer: bytes) -> list[Reply]:
        """Carry out a command."""
        return self._commands.take(command, peer)

    # what the service drives

    def lives(self, track: RankTrack) -> bool:
        """Tell whether a rank's process still runs; one on another host is taken to, while it speaks."""
        hello = track.hello
        if pid_means_process(hello, self.description.host):
            return start_ticks(hello.pid) == hello.start_ticks
        return not track.gone and self.now() - track.last_unix < _FOREIGN_SILENCE_S

    def by_own_clock(self, hello: Hello) -> Hello:
        """Return a greeting with times that are told by the run's clock, where that can be read there.

        Ranks of this host count by the same monotonic clock; the wall clock may have been set between their
        start and the run's.
        """
        if hello.host != self.description.host or not shares_clock(hello.pid):
            return hello
        return msgspec.structs.replace(hello, wall_offset_ns=self.clock.wall_offset_ns)

    def hear(self, entry: Entry) -> bool:
        """Take a rank's message in; False when the rank must say hello first."""
        known = self.fold.apply(entry)
        if known:
            self._keep(entry)
            self._note_first_step()
        return known

    def hear_host(self, entry: Entry) -> None:
        """Take in what another host's hub has read, or what happened to it."""
        self.fold.apply(entry)
        self._recorder.append(entry)

    def _keep(self, entry: Entry) -> None:
        self._recorder.append(entry)
        if self.other_hosts is not None:
            self.other_hosts.heard(entry)

    def tick(self) -> list[Reply]:
        """Do what is due; return what dashboards are to be told."""
        self.output.read()
        replies = self._commands.finished_windows()
        self.outbox += self.windows.take_orders()
        now = self.now()
        if now >= self._next_second:
            self._next_second = now + _SECOND
            self._every_second(now)
            self.tuner.bring_back_if_killed()
            replies += self._commands.finished_relaunch()
        elif self.ended is None and self.places.exit_record.exists():  # somebody waits for the summary
            self._read_files(now)
        if self.ended is None:
            self._look(now)
        return replies

    def _look(self, now: float) -> None:
        """Judge the run, or go on with it."""

        def begin() -> Parts[bool]:
            began_s = self.description.started_unix
            window = self._newest.of(self.profiles())
            return self._judge.looking(self.fold, now, window, began_s=began_s, unseen=why_unseen())

        if self._looks.turn(begin) and self._judge.appeared:
            self._recorder.append(Entry(unix=now, appeared=self._judge.appeared))

    def _every_second(self, now: float) -> None:
        self._sensors.mark_gone(self.fold)
        hosts, gpus = self._sensors.read(self.fold)
        self._keep(Entry(unix=now, hosts=self._readings.thinned(hosts, now), gpus=gpus))
        self.fold.apply(Entry(unix=now, hosts=hosts, gpus=gpus))
        self._read_files(now)
        if self.ended is None:
            self._schedule.look(
                relaunching=self.tuner.runs, past_warm_s=self._limits.past_warm_s(self.fold, now)
            )
            reached = self._limits.reached(self.fold, now)
            if reached and not self.places.stop_request.exists():
                self._stop_at_limit(reached)

    def _stop_at_limit(self, reached: str) -> None:
        try:
            self.request_stop(reached)
            note(self.places.audit, Actor(by="hub"), "stop", "accepted", told=f"the limit of {reached}")
        except OSError as error:  # asked again in a second
            self._stop_note = f"the limit of {reached} is reached, and {error.filename}: {error.strerror}"

    def _note_first_step(self) -> None:
        """Leave word for the keeper, which tells "died before its first step" from other ends."""
        if not self._stepped and any(track.log.raw for track in self.fold.ranks.values()):
            self._stepped = True
            with contextlib.suppress(OSError):
                self.places.stepped.touch(OWNER_ONLY)

    def _read_files(self, now: float) -> None:
        if self.ended is None:
            self.ended = read_record(self.places.exit_record, ExitRecord)
            if self.ended is not None and not self.places.description.exists():
                self._describe_again()
            # the keeper writes its pid into the description after it has started this hub
            if self.description.owned and self.description.keeper_pid is None:
                self.description = read_record(self.places.description, RunDescription) or self.description
        self._relaunch = read_record(self.places.relaunch, RelaunchView) or self._relaunch
        self._lost = self.ended is None and self._is_lost(now)
        if self._lost and is_orphaned(self.description):
            end_orphan(self.description)

    def _describe_again(self) -> None:
        """Somebody has removed the run's folder: what is written into it now is to be found and tidied up."""
        with contextlib.suppress(OSError):
            write_record(self.places.description, self.description)

    def _is_lost(self, now: float) -> bool:
        keeper = self.description.keeper_pid
        if self.description.owned and keeper is not None:
            if start_ticks(keeper) == self.description.keeper_start_ticks:
                return False
            if self.description.trial:
                return True
            self._heir.take_over()
            return not self._training_lives()
        if self.description.owned:
            return False
        if not self.fold.ranks:  # whoever started this hub has ended before it could speak
            return now - self.description.started_unix > _UNHEARD_END_S
        gone = all(track.ended or track.gone for track in self.fold.ordered)
        self._all_gone_since = (self._all_gone_since or now) if gone else None
        return self._all_gone_since is not None and now - self._all_gone_since > _UNOWNED_END_S

    def _training_lives(self) -> bool:
        pid, ticks = self.description.training_pid, self.description.training_start_ticks
        return pid is not None and ticks is not None and start_ticks(pid) == ticks

    def request_stop(self, stopped_by: str) -> None:
        """Ask the keeper to stop the training by the ladder.

        Raises:
            OSError: the request cannot be written.
        """
        trainers = [
            (track.hello.pid, track.hello.start_ticks)
            for track in self.fold.ordered
            if not (track.ended or track.gone) and pid_means_process(track.hello, self.description.host)
        ]
        write_record(self.places.stop_request, StopRequest(stopped_by=stopped_by, trainers=trainers))
        if self.other_hosts is not None:
            self.other_hosts.stop(stopped_by)

    def start_tuner(self) -> None:
        """Start the process that carries out `relaunch_plan.json`."""
        self.places.relaunch.unlink(missing_ok=True)
        self._relaunch = None
        self.tuner.start()

    @property
    def busy(self) -> bool:
        """Whether a relaunch or a window goes on."""
        return self.tuner.runs or self.windows.open

    @property
    def reads_output(self) -> bool:
        """Whether what prints would end by a broken pipe without this process."""
        return self._heir.reads

    @property
    def over(self) -> bool:
        """Whether the training has ended, however."""
        return self.ended is not None or self._lost

    @property
    def all_said(self) -> bool:
        """Whether every rank has said goodbye, so that nothing more can come."""
        return bool(self.fold.ranks) and all(track.ended for track in self.fold.ordered)

    def summary_bytes(self) -> bytes:
        """Return the summary JSON as of now."""
        verdict = self._relaunch.verdict if self._relaunch else self._verdict_before()
        summary = summarise(
            self.fold,
            self.facts(),
            self.now(),
            self.profiles(),
            verdict,
            self._recorder.failed_entries,
            self._newest.of(self.profiles()),
            self.links(),
            why_unseen(),
        )
        return msgspec.json.format(msgspec.json.encode(summary), indent=1) + b"\n"

    def _verdict_before(self) -> Verdict | None:
        """Return the verdict that led to this run, where it took the place of another."""
        if self.description.parent is None or self.description.trial:
            return None
        view = read_record(run_places(self.description.parent).relaunch, RelaunchView)
        return view.verdict if view is not None and view.successor == self.description.run_id else None

    def close(self) -> None:
        """Close files and end children, but for a tuner: it ends by itself."""
        self.windows.close()
        self._sensors.close()
        self._recorder.close()
