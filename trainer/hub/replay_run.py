"""A recorded run served over the same sockets as a live one: the dashboard need not know the difference."""

import os
import time
from pathlib import Path

import msgspec

from perftui.ipc.dashboard_messages import Answer, Command, Done, SeekCommand, SummaryQuery
from perftui.ipc.errors import RecordingError
from perftui.ipc.findings import Finding, Unjudged
from perftui.ipc.host_links import HostLink
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.places import RunPlaces
from perftui.ipc.recording import Entry, read_recording
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record
from perftui.ipc.view import ProfileView, RelaunchView
from perftui.trainer.hub.console import OutputTail
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.judge import Judge
from perftui.trainer.hub.newest_window import NewestWindow
from perftui.trainer.hub.profile_windows import ProfileWindows
from perftui.trainer.hub.served import Reply
from perftui.trainer.hub.server import DashboardServer
from perftui.trainer.hub.service import Stopped
from perftui.trainer.hub.summaries import summarise
from perftui.trainer.hub.views import Replay, RunFacts

_LOOP_MS = 50
_IDLE_END_S = 10.0
"""A replay that nobody looks at, and that no process has begun for itself, ends."""
_SPEED_MAX = 1000.0
_JUDGED_BEFORE_S = 60.0
"""On the way to another time only the last judgements are made: what is shown depends on no older ones, and
they are nearly all that a jump costs."""
_JUDGE_S = 1.0
_RANKS_A_SECOND = 128
"""More are judged less often, as in a live run, where a look takes as much time as there are ranks."""


class ReplayRun:
    """Plays a recording: time runs at `speed`, may be paused, and may be set anywhere."""

    def __init__(self, folder: Path, *, at_end: bool, speed: float) -> None:
        recording = folder / "recording" if (folder / "recording").is_dir() else folder
        self._entries = list(read_recording(recording))
        if not self._entries:
            raise RecordingError(f"{folder}: the recording is empty")
        state = folder if (folder / "run.json").exists() else recording.parent
        self._exit = read_record(state / "exit.json", ExitRecord)
        self._relaunch = read_record(state / "relaunch.json", RelaunchView)
        self._description = read_record(state / "run.json", RunDescription) or _unnamed(self._entries[0])
        self.output = OutputTail(state / "console.log")
        self._first = min(self._entries[0].unix, self._description.started_unix)
        self._last = max(self._entries[-1].unix, self._exit.ended_unix if self._exit else 0.0)
        self._speed = speed
        self._paused = at_end
        self._at = self._last if at_end else self._first
        self._clock = time.monotonic()
        self._profiles = state / "profiles"
        self._newest = NewestWindow(self._profiles)
        self.fold, self._judge, self._next, self._judged_unix = (
            RunFold(self._description.host),
            Judge(),
            0,
            0.0,
        )
        self._windows = ProfileWindows(self.fold, self._profiles, replay=True)
        self.jumped = False
        """Set by a seek: dashboards need a snapshot."""
        self._play()

    def advance(self) -> None:
        """Let time pass."""
        now = time.monotonic()
        if not self._paused:
            self._at = min(self._last, self._at + (now - self._clock) * self._speed)
        self._clock = now
        self._play()

    def _play(self) -> None:
        self.output.read()
        while self._next < len(self._entries) and self._entries[self._next].unix <= self._at:
            entry = self._entries[self._next]
            self._next += 1
            self.fold.apply(entry)
            due_s = max(_JUDGE_S, len(self.fold.ranks) / _RANKS_A_SECOND)
            near = entry.unix >= self._at - _JUDGED_BEFORE_S * due_s
            if near and entry.unix - self._judged_unix >= due_s:
                self._judged_unix = entry.unix
                self._windows.tick()
                began_s = self._description.started_unix
                self._judge.look(self.fold, entry.unix, self._newest.of(self.profiles()), began_s=began_s)
        self._windows.tick()

    def _seek(self, elapsed_s: float) -> None:
        """Go on to a time, or back to one: then all is played again from the beginning."""
        before, self._at = self._at, min(self._last, max(self._first, self._first + elapsed_s))
        if self._at < before:
            self.fold, self._judge = RunFold(self._description.host), Judge()
            self._next, self._judged_unix = 0, 0.0
            self._windows = ProfileWindows(self.fold, self._profiles, replay=True)
            self.jumped = True
        self._play()

    def now(self) -> float:
        """Return the time of the picture."""
        return self._at

    def facts(self) -> RunFacts:
        """Return what the run's files said at that time."""
        over = self._exit is not None and self._at >= self._exit.ended_unix
        return RunFacts(
            description=self._description,
            ended=self._exit if over else None,
            stopping=False,
            lost=self._exit is None and self._at >= self._last,
            replay=Replay(speed=self._speed, paused=self._paused, total_s=self._last - self._first),
        )

    def findings(self) -> list[Finding]:
        """Return the findings at that time."""
        return self._judge.findings

    def unjudged(self) -> list[Unjudged]:
        """Return what could not be judged, and why."""
        return self._judge.unjudged

    def marks(self, rank: int) -> list[str]:
        """Return the codes of findings that point at a rank."""
        return self._judge.marks(rank)

    def profiles(self) -> list[ProfileView]:
        """Return the windows that were opened by that time, with what was found in them."""
        return self._windows.views()

    def links(self) -> list[HostLink]:
        """Return the run's hosts as they stood at that time."""
        if not self.fold.links:
            return []
        lead = HostLink(host=self._description.host, state="lead", age_s=0.0)
        return [lead, *(self.fold.links[host] for host in sorted(self.fold.links))]

    def relaunch(self) -> RelaunchView | None:
        """Return the relaunch that followed, at the end of the recording."""
        return self._relaunch if self._at >= self._last else None

    def _summary(self) -> str:
        summary = summarise(
            self.fold,
            self.facts(),
            self.now(),
            self.profiles(),
            None,
            0,
            self._newest.of(self.profiles()),
            self.links(),
        )
        return msgspec.json.encode(summary).decode()

    def take(self, command: Command, peer: bytes) -> list[Reply]:
        """Seek, pause, alter the speed, summarise; everything else is refused."""
        if isinstance(command, SummaryQuery):
            return [
                Reply(peer, Answer(command_id=command.command_id, accepted=True)),
                Reply(peer, Done(command_id=command.command_id, ok=True, result=self._summary())),
            ]
        if not isinstance(command, SeekCommand):
            reason = "this is a replay: nothing can be commanded"
            return [Reply(peer, Answer(command_id=command.command_id, accepted=False, reason=reason))]
        if command.speed is not None:
            self._speed = min(_SPEED_MAX, max(0.0, command.speed))
        if command.paused is not None:
            self._paused = command.paused
        if command.elapsed_s is not None:
            self._seek(command.elapsed_s)
        return [
            Reply(peer, Answer(command_id=command.command_id, accepted=True)),
            Reply(peer, Done(command_id=command.command_id, ok=True)),
        ]


def _unnamed(first: Entry) -> RunDescription:
    host = first.message.host if first.message else "unknown"
    run_id = first.message.run_id if first.message else "recording"
    return RunDescription(
        run_id=run_id, name=run_id, command=[], cwd="", host=host, started_unix=first.unix, owned=False
    )


def serve_replay(
    places: RunPlaces, folder: Path, *, at_end: bool, speed: float, child_of: int | None = None
) -> None:
    """Serve a recording for as long as somebody may look.

    Args:
        places: where it is served.
        folder: the recording's.
        at_end: begin with its last picture.
        speed: times as fast.
        child_of: the process that started this one and shows the recording: as long as it lives, which may
            be suspended for hours, the recording is served. None: until nobody has looked for a while.
    """
    stopped = Stopped()
    run = ReplayRun(folder, at_end=at_end, speed=speed)
    server = DashboardServer(run)
    sockets = HubSockets(places)
    try:
        looked_at_s = time.monotonic()
        while not stopped.flag and _wanted(child_of, time.monotonic() - looked_at_s):
            for reply in server.take_all(sockets.arrivals(_LOOP_MS)):
                sockets.to_dashboard(reply.peer, reply.message)
            run.advance()
            if run.jumped:
                run.jumped = False
                server.restart()
            if server.attached():
                looked_at_s = time.monotonic()
    finally:
        sockets.close()


def _wanted(child_of: int | None, idle_s: float) -> bool:
    """Whether somebody may still look; a process whose parent has died is another's child."""
    return idle_s < _IDLE_END_S if child_of is None else os.getppid() == child_of
