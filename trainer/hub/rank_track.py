"""What the hub knows of one rank, folded from its messages: the same messages give the same state."""

from collections import deque
from dataclasses import dataclass, field
from itertools import repeat
from typing import Literal

from perftui.ipc.facts import RankFacts, merged
from perftui.ipc.messages import (
    FLAG_EPOCH_START,
    FLAG_EXPLICIT_BOUNDARY,
    FLAG_LOADER_BOUNDARY,
    DeviceSteps,
    Effective,
    Facts,
    Goodbye,
    Hello,
    LoaderFacts,
    LossSample,
    RankEvent,
    RankMessage,
    StepBatch,
    WindowReport,
)
from perftui.ipc.settings import SettingValue
from perftui.ipc.step_record import StepRecord
from perftui.ipc.view import Mark, RankState
from perftui.trainer.hub.device_log import DeviceLog
from perftui.trainer.hub.facts_log import FactsLog
from perftui.trainer.hub.pause_log import PauseLog
from perftui.trainer.hub.step_log import StepLog

_MARKS_KEPT = 256
_MARK_TEXT_KEPT = 2000
_WINDOWS_KEPT = 4096
_UNKNOWN = repeat(-1)


@dataclass
class RankTrack:
    """One rank of one attempt."""

    hello: Hello
    first_unix: float
    last_unix: float
    log: StepLog = field(default_factory=StepLog)
    device_log: DeviceLog = field(default_factory=DeviceLog)
    next_seq: int = 0
    lost_frames: int = 0
    seq_known: bool = True
    """False after a hole in the recording: the frames that its next one comes after were not lost."""
    dropped: int = 0
    probe_errors: int = 0
    probe_ns: int = 0
    hook_ns: int = 0
    hook_steps: int = 0
    shadow: StepBatch | None = None
    """The newest frame that tells what steps cost which the hooks slept through."""
    settings: dict[str, SettingValue] = field(default_factory=dict)
    settings_failed: dict[str, str] = field(default_factory=dict)
    loader: LoaderFacts | None = None
    read_ahead: LoaderFacts | None = None
    facts: RankFacts = field(default_factory=RankFacts)
    facts_log: FactsLog = field(default_factory=FactsLog)
    heard_late_s: float = 0.0
    """How old its newest facts were when the hub came to hear them: frames had waited so long."""
    device: str = "unknown"
    gpu_uuid: str | None = None
    loss: float | None = None
    losses: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=512))
    marks: deque[Mark] = field(default_factory=lambda: deque(maxlen=_MARKS_KEPT))
    marks_seen: int = 0
    pauses: PauseLog = field(default_factory=PauseLog)
    windows: dict[str, WindowReport] = field(default_factory=dict)
    windows_unix: dict[str, float] = field(default_factory=dict)
    """When each was first reported."""
    epoch_first_step: int = 0
    ended: bool = False
    gone: bool = False
    """Its process has disappeared without a goodbye."""
    attempt: int = 1
    """Which of the job's it is: a launcher may start failed ranks again."""
    host_lost: bool = False
    """The hub of its host is not heard."""

    def apply(self, message: RankMessage, unix: float) -> None:
        """Fold one message."""
        if message.seq > self.next_seq and self.seq_known:
            self.lost_frames += message.seq - self.next_seq
        self.next_seq, self.seq_known = message.seq + 1, True
        self.last_unix = unix
        if isinstance(message, StepBatch):
            self._add_steps(message)
        elif isinstance(message, DeviceSteps):
            self.device_log.add(message)
        elif isinstance(message, LossSample):
            self.loss = message.value
            self.losses.append((message.step, message.value))
        elif isinstance(message, Effective):
            self._take_effective(message)
        elif isinstance(message, Facts):
            self.facts = merged(self.facts, message.facts)
            self.heard_late_s = unix - (message.at_ns + self.hello.wall_offset_ns) / 1e9
            self.facts_log.add(unix, len(self.log), self.facts)
        elif isinstance(message, RankEvent):
            self._add_event(message)
        elif isinstance(message, WindowReport):
            self._take_window(message, unix)
        elif isinstance(message, Goodbye):
            self._take_goodbye(message)

    def restore(self, message: RankMessage, unix: float) -> None:
        """Take in how it stood at the end of a hole in the recording."""
        if isinstance(message, Hello):
            self.hello = message
            return
        self.next_seq, self.seq_known = max(self.next_seq, message.seq + 1), True
        if isinstance(message, Effective):
            self._take_effective(message)
        elif isinstance(message, Facts):
            self.facts = message.facts
            self.heard_late_s = unix - (message.at_ns + self.hello.wall_offset_ns) / 1e9
        elif isinstance(message, Goodbye):
            self._take_goodbye(message)

    def _take_goodbye(self, message: Goodbye) -> None:
        self.ended = True
        self.dropped = message.dropped
        self.probe_errors = max(self.probe_errors, message.errors)

    def _take_window(self, report: WindowReport, unix: float) -> None:
        self.windows[report.window_id] = report
        self.windows_unix.setdefault(report.window_id, unix)
        if len(self.windows) > _WINDOWS_KEPT:
            oldest = next(iter(self.windows))
            del self.windows[oldest], self.windows_unix[oldest]

    def _add_steps(self, batch: StepBatch) -> None:
        columns = zip(
            range(batch.first_step, batch.first_step + len(batch.end_ns)),
            batch.end_ns,
            batch.wall_ns,
            batch.wait_ns,
            batch.forward_ns,
            batch.backward_ns,
            batch.optimizer_ns,
            batch.cpu_ns,
            batch.samples,
            batch.micro_batches,
            batch.epoch,
            batch.flags,
            batch.h2d_ns or _UNKNOWN,
            batch.comm_ns or _UNKNOWN,
            batch.worker or _UNKNOWN,
            batch.tokens or _UNKNOWN,
            strict=False,
        )
        rows = list(map(StepRecord._make, columns))
        for row in rows:
            if row.flags & FLAG_EPOCH_START:
                self.epoch_first_step = row.step
        self.log.extend(rows)
        self.dropped = batch.dropped
        self.probe_ns = batch.probe_ns
        self.hook_ns = batch.hook_ns
        self.hook_steps = batch.hook_steps
        if batch.shadow_us is not None:
            self.shadow = batch

    def _take_effective(self, message: Effective) -> None:
        self.settings = message.settings
        self.settings_failed = message.failed
        self.loader = message.loader or self.loader
        self.read_ahead = message.read_ahead
        self.device = message.device or self.device
        self.gpu_uuid = message.gpu_uuid or self.gpu_uuid

    def _add_event(self, message: RankEvent) -> None:
        if message.event == "probe_error":
            self.probe_errors += 1
        self.pauses.add(message)
        unix = (message.at_ns + self.hello.wall_offset_ns) / 1e9
        self.marks.append(
            Mark(
                unix=unix,
                rank=message.rank,
                event=message.event,
                text=message.text[:_MARK_TEXT_KEPT],
                step=message.step,
                duration_s=message.duration_ns / 1e9,
            )
        )
        self.marks_seen += 1

    @property
    def last_step_unix(self) -> float | None:
        """When its last step ended."""
        if not self.log.raw:
            return None
        return (self.log.raw[-1].end_ns + self.hello.wall_offset_ns) / 1e9

    def boundary(self) -> Literal["optimizer", "loader", "explicit"]:
        """Return what bounds its steps."""
        flags = self.log.raw[-1].flags if self.log.raw else 0
        if flags & FLAG_EXPLICIT_BOUNDARY:
            return "explicit"
        return "loader" if flags & FLAG_LOADER_BOUNDARY else "optimizer"

    def state(self, now: float, silent_after_s: float) -> RankState:
        """Return how it stands at `now` (unix seconds)."""
        if self.ended or self.gone:
            return "ended"
        if any(report.state in ("warming", "recording", "saving") for report in self.windows.values()):
            return "profiling"
        if not self.log.raw:
            return "starting"
        if self.host_lost or now - self.last_unix > silent_after_s:
            return "silent"
        phases = self.facts.phases
        return "validating" if phases is not None and phases.phase == "validation" else "training"

    def steps_per_epoch(self) -> int | None:
        """Return optimizer steps an epoch, where the loader's length is known."""
        if self.loader is None or self.loader.batches_per_epoch is None or not self.log.raw:
            return None
        micro = max(1, self.log.raw[-1].micro_batches)
        return -(-self.loader.batches_per_epoch // micro)
