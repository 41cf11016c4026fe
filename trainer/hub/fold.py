"""All ranks of a run, folded from entries of the recording or from the wire: both give the same state."""

from collections import deque
from dataclasses import dataclass, field

import msgspec

from perftui.ipc.host_links import HostEvent, HostLink, LinkState
from perftui.ipc.messages import FromRank, Hello
from perftui.ipc.recording import Entry
from perftui.ipc.summary import PastAttempt
from perftui.ipc.view import GpuView, HostView, Mark
from perftui.trainer.hub.appearances import Appearances
from perftui.trainer.hub.facts_log import POINTS_KEPT, FactsLog
from perftui.trainer.hub.host_log import HostLog, with_workers
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.readings import Readings
from perftui.trainer.hub.step_log import StepLog, raw_steps_of
from perftui.trainer.hub.worker_log import WorkerLog, together
from perftui.trainer.hub.worker_memory import WorkerMemory

_PAST_ATTEMPTS = 8
_MARKS_KEPT = 256
_JOINED = ("joined", "back", "restarted")
_FACTS_OF_ALL, _FACTS_LEAST = 64 * POINTS_KEPT, 64
"""Points of how facts grew, over all ranks and of each."""


@dataclass
class RunFold:
    """What is known of a run.

    Args:
        host: the hub's own; a run may have others.
    """

    host: str = ""
    ranks: dict[int, RankTrack] = field(default_factory=dict)
    past: list[RankTrack] = field(default_factory=list)
    """Earlier attempts of ranks that were started again, newest last."""
    hosts: list[HostView] = field(default_factory=list)
    """One a host, as last read; the hub's own first, the others by name."""
    host_logs: dict[str, HostLog] = field(default_factory=dict)
    hosts_unix: dict[str, float] = field(default_factory=dict)
    """When each was read."""
    links: dict[str, HostLink] = field(default_factory=dict)
    """Other hosts of the run, as their newest event left them; of a live run the lead knows more."""
    worker_logs: dict[int, WorkerLog] = field(default_factory=dict)
    """By rank."""
    worker_memory: dict[int, WorkerMemory] = field(default_factory=dict)
    """By rank."""
    gpus: list[GpuView] = field(default_factory=list)
    worked: dict[str, tuple[float, GpuView]] = field(default_factory=dict)
    """Each GPU as it was last read while its ranks stepped, and when: ended ranks use none any more."""
    first_unix: float | None = None
    last_unix: float = 0.0
    attempts: int = 0
    """Ranks that were started again so far."""
    past_attempts: list[PastAttempt] = field(default_factory=list)
    """Of the job: all ranks that a launcher starts again together are one."""
    readings: Readings = field(default_factory=Readings)
    """Hosts, GPUs and loader workers over the whole run."""
    appearances: Appearances = field(default_factory=Appearances)
    """When each finding was first shown."""
    strangers: int = 0
    """Frames from ranks that never said hello."""
    marks: deque[Mark] = field(default_factory=lambda: deque(maxlen=_MARKS_KEPT))
    """What happened to the run as a whole: hosts and attempts."""
    marks_seen: int = 0
    _holed: bool = False
    """Entries of the recording are missing just before this moment."""

    def apply(self, entry: Entry) -> bool:
        """Fold one entry; False when it came from a rank that is not known (it must say hello first)."""
        if self.first_unix is None:
            self.first_unix = entry.unix
        self.last_unix = entry.unix
        if entry.after_hole or entry.gap:
            self._holed = True
            for track in self.ranks.values():
                track.seq_known = False
        if entry.repeated:
            if self._holed:
                self._restore(entry)
            return True
        self._holed = False
        self.appearances.take(entry.appeared)
        if entry.hosts:
            self._hear_hosts(entry.hosts, entry.unix)
        if entry.hosts or entry.gpus:
            read = {view.name for view in entry.hosts} or {view.host for view in entry.gpus}
            self.gpus = [view for view in self.gpus if view.host not in read] + entry.gpus
            self._hear_gpus(entry.gpus, entry.unix)
        for event in entry.host_events:
            self._hear_host_event(event)
        return entry.message is None or self._apply_message(entry.message, entry.unix)

    def _restore(self, entry: Entry) -> None:
        """Take in how a rank or a host stood at the end of a hole; who has read all before knows it."""
        for event in entry.host_events:
            known = self.links.get(event.host)
            self._link(event, known.joins if known else 1)
        message = entry.message
        if message is None:
            return
        track = self.ranks.get(message.rank)
        if isinstance(message, Hello) and (track is None or track.hello.process != message.process):
            self._greet(message, track, entry.unix)
            self.ranks[message.rank].seq_known = False
        elif track is not None:
            track.restore(message, entry.unix)

    def _hear_gpus(self, gpus: list[GpuView], unix: float) -> None:
        self.readings.hear_gpus(gpus, unix)
        for view in gpus:
            known = self.worked.get(view.uuid)
            if view.window_steps or known is None or not known[1].window_steps:
                self.worked[view.uuid] = (unix, view)

    def _hear_hosts(self, hosts: list[HostView], unix: float) -> None:
        read = {view.name for view in hosts}
        fresh = [with_workers(view, self.hosts) for view in hosts]
        kept = [view for view in self.hosts if view.name not in read]
        self.hosts = sorted(kept + fresh, key=lambda view: (view.name != self.host, view.name))
        self.hosts_unix |= dict.fromkeys(read, unix)
        self.readings.hear_hosts(hosts, unix)
        training = any(track.log.raw and not track.ended for track in self.ranks.values())
        for view in hosts:
            self.host_logs.setdefault(view.name, HostLog()).add(view, training=training)
        looked = {view.name: view.workers for view in hosts if view.workers_age_s == 0}
        for rank, track in self.ranks.items():
            if track.hello.host in looked:
                mine = [worker for worker in looked[track.hello.host] if worker.rank == rank]
                log = self.worker_logs.setdefault(rank, WorkerLog())
                look = together(mine)
                log.add(look, unix, training=training)
                self.readings.hear_workers(rank, look, unix)
                self.worker_memory.setdefault(rank, WorkerMemory()).add(mine, unix)

    def _hear_host_event(self, event: HostEvent) -> None:
        known = self.links.get(event.host)
        self._link(event, (known.joins if known else 0) + (event.event in _JOINED))
        self.mark(Mark(unix=event.unix, rank=None, event="host", text=event.text))

    def _link(self, event: HostEvent, joins: int) -> None:
        joined = event.event in _JOINED
        state: LinkState = "joined" if joined else "lost" if event.event == "lost" else "left"
        self.links[event.host] = HostLink(host=event.host, state=state, age_s=0.0, joins=joins)

    def mark(self, mark: Mark) -> None:
        """Note something that happened to the run as a whole."""
        self.marks.append(mark)
        self.marks_seen += 1

    def _apply_message(self, message: FromRank, unix: float) -> bool:
        track = self.ranks.get(message.rank)
        if isinstance(message, Hello):
            self._greet(message, track, unix)
            return True
        if track is None:
            self.strangers += 1
            return False
        track.apply(message, unix)
        return True

    def _greet(self, hello: Hello, track: RankTrack | None, unix: float) -> None:
        if track is not None and track.hello.process == hello.process:
            track.hello = hello
            track.apply(hello, unix)
            return
        log = StepLog(raw_steps_of(hello.world_size))
        facts_log = FactsLog(max(_FACTS_LEAST, min(POINTS_KEPT, _FACTS_OF_ALL // max(1, hello.world_size))))
        fresh = RankTrack(hello=hello, first_unix=unix, last_unix=unix, log=log, facts_log=facts_log)
        beside = (each.attempt for each in self.ranks.values() if each.hello.world_size == hello.world_size)
        fresh.attempt = min(beside, default=self.attempt)
        if track is not None:
            fresh.attempt = track.attempt + 1
            if fresh.attempt > self.attempt:
                self._begin_attempt(fresh, track, unix)
            self.attempts += 1
            self._leave(track)
        fresh.device = hello.device
        fresh.gpu_uuid = hello.gpu_uuid
        fresh.next_seq = hello.seq + 1
        self.ranks[hello.rank] = fresh

    def _leave(self, track: RankTrack) -> None:
        self.past = [*self.past[1 - _PAST_ATTEMPTS :], track]

    def _begin_attempt(self, fresh: RankTrack, before: RankTrack, unix: float) -> None:
        """Close the attempt before, as its ranks stand: `before`, the first of them, is about to be replaced.

        An elastic launcher may go on with fewer ranks, and those that have no place any more leave; or with
        more, of which new ones may have come first.
        """
        size, was = fresh.hello.world_size, before.hello.world_size
        new = {
            rank for rank, track in self.ranks.items() if rank >= was and was < track.hello.world_size == size
        }
        ended = [track for track in self.ordered if track.hello.rank not in new]
        steps = min(len(track.log) for track in ended)
        self.past_attempts.append(
            PastAttempt(
                attempt=self.attempt,
                steps=steps,
                began_unix=min(track.first_unix for track in ended),
                ended_unix=max(track.last_unix for track in ended),
            )
        )
        for rank in new:
            self.ranks[rank].attempt = fresh.attempt
        for track in ended:
            if size < was and track.hello.rank >= size:
                self._leave(self.ranks.pop(track.hello.rank))
        text = f"attempt {fresh.attempt}: the ranks were started again, after {steps} steps"
        self.mark(Mark(unix=unix, rank=None, event="attempt", text=text, step=0))

    @property
    def attempt(self) -> int:
        """Which attempt of the job goes on, from 1."""
        return 1 + len(self.past_attempts)

    @property
    def ordered(self) -> list[RankTrack]:
        """Tracks by rank."""
        return [self.ranks[rank] for rank in sorted(self.ranks)]

    def world_size(self) -> int:
        """Return the number of ranks that the job has, or as many as were seen."""
        return max([len(self.ranks), *(track.hello.world_size for track in self.ranks.values())])

    def steps_done(self) -> int:
        """Return the number of steps that every rank has finished."""
        return min((len(track.log) for track in self.ranks.values()), default=0)

    def gpu_users(self, host: str) -> dict[str, list[RankTrack]]:
        """Return which living ranks of a host use which GPU, by UUID."""
        found: dict[str, list[RankTrack]] = {}
        for track in self.ordered:
            if track.gpu_uuid and track.hello.host == host and not (track.ended or track.gone):
                found.setdefault(track.gpu_uuid, []).append(track)
        return found

    def gpus_at_work(self, now: float) -> list[GpuView]:
        """Return each GPU as it was last read while ranks stepped on it, with its age at `now` (unix)."""
        return [
            msgspec.structs.replace(view, age_s=view.age_s + max(0.0, now - unix))
            for unix, view in self.worked.values()
        ]
