"""The work of the one background thread in a rank: records to the hub, commands from it.

It wakes at most ten times a second and shares nothing with the training thread but bounded queues. See
`agent_thread` for when it starts and ends.
"""

import os
import platform
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Protocol, TypeVar

import torch

from perftui.ipc.messages import (
    BLANK,
    PROTOCOL_VERSION,
    ArmWindow,
    AskHello,
    Beat,
    Effective,
    Goodbye,
    Hello,
    LossSample,
    RankEvent,
    ToRank,
    Welcome,
    WindowReport,
)
from perftui.ipc.rank_link import RankLink, rank_identity
from perftui.ipc.settings import SettingValue
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.device_times import DeviceTimes, device_times
from perftui.trainer.probe.effective import InForce, read_in_force
from perftui.trainer.probe.expected_window import order_of, wanted_window
from perftui.trainer.probe.facts import FactsTeller
from perftui.trainer.probe.identity import Identity, command, pid_namespace, read_identity, start_ticks
from perftui.trainer.probe.outbox import Outbox
from perftui.trainer.probe.phase_sampling import stride_within
from perftui.trainer.probe.placing import Placing
from perftui.trainer.probe.recorder import Recorder, Window
from perftui.trainer.probe.saves import Save, joined_saves
from perftui.trainer.probe.shadow_log import ShadowLog
from perftui.trainer.probe.shadow_plan import ShadowPlan
from perftui.trainer.probe.step_parts import GapRecord
from perftui.trainer.probe.step_times import StepTimes
from perftui.trainer.probe.telegrams import (
    checkpoint_event,
    consecutive,
    device_steps,
    events_of,
    step_batch,
    validation_event,
)

WAKE_MS = 100
_READ_BACK_S = 1.0
_BEAT_S = 1.0
_LEAVE_S = 0.15
_WINDOW_MARGIN = 16
"""Steps; and three wakes' worth of them."""
_RATE_FADES = 0.9
_AFTER = 1
"""ns after a step's beginning: then the step before has ended."""

T = TypeVar("T")


class WindowRunner(Window, Protocol):
    """What the agent needs of `profiling.window.WindowRunner`."""

    @property
    def begins_at(self) -> int:
        """The step before which a window does something next."""

    def arm(self, order: ArmWindow, current_step: int, shortened: str | None = None) -> None:
        """Prepare a window."""

    def cancel(self, window_id: str) -> None:
        """End a window without a result."""

    def keep_watch(self) -> None:
        """Hold the window's limits where the training thread comes by no hook."""

    def shutdown(self, reason: str) -> None:
        """The process ends."""


@dataclass(frozen=True)
class AgentRun:
    """What the agent must know of the run."""

    run_id: str
    rank_socket: str
    settings: dict[str, SettingValue]
    trial: bool
    profiles: str
    """Folder for the trace files of windows that the environment asks for."""
    take_written: Callable[[], list[str]]
    """Returns the files that a trial has written since the last call."""


class Agent:
    """Owns the socket, the outbox and the windows of one rank; all of it in the agent's thread.

    Args:
        recorder: filled by the hooks.
        run: which run this is.
        identity: as it was known at the first training event.
    """

    def __init__(self, recorder: Recorder, run: AgentRun, identity: Identity) -> None:
        self._recorder = recorder
        self._run = run
        self._identity = identity
        self._outbox = Outbox(run.run_id, socket.gethostname())
        self._link = self._connect()
        self._wall_offset_ns = time.time_ns() - time.perf_counter_ns()
        self._times = StepTimes()
        self._facts = FactsTeller(recorder, self._wall_offset_ns, self._times)
        self._hub_pid = 0
        self._in_force: InForce | None = None
        self._read_back_at = 0.0
        self._sent_at = 0.0
        self._next_step = 0
        self._greeted = False
        self._saves: Placing[Save] = Placing(self._times)
        self._losses: Placing[float] = Placing(self._times)
        self._gaps: Placing[GapRecord] = Placing(self._times)
        self._device: Placing[DeviceTimes] = Placing(self._times)
        self._interrupted: deque[int] = deque(maxlen=64)
        """Steps with a validation in them: on the device it cannot be told from the step."""
        self._shadow_plan, self._shadow_log = ShadowPlan(), ShadowLog()
        self._step_rate = 0.0
        """Steps that come between two wakes, at most, of late."""
        self._runner: WindowRunner | None = None
        self._arm_from_environment()

    def _connect(self) -> RankLink:
        return RankLink(self._run.rank_socket, rank_identity(self._identity.rank, os.getpid()))

    def turn(self) -> bool:
        """One wake: wait for the hub or the time, then listen, read and send; True when nothing raised."""
        if not self._greeted:
            self._greet()
        self._link.wait(WAKE_MS)
        self._facts.look()
        for message in self._link.receive():
            self._obey(message)
        self._follow_window()
        identity = read_identity()
        if identity.known and identity != self._identity:
            self._become(identity)
        self._collect()
        now = time.monotonic()
        if now - self._read_back_at >= _READ_BACK_S:
            self._read_back_at = now
            self._recorder.compiling.refresh()
            self._read_back(at_end=False)
        if self._outbox.send(self._link, self._identity.rank):
            self._sent_at = now
        elif now - self._sent_at >= _BEAT_S:
            beat = Beat(**BLANK, at_ns=time.perf_counter_ns(), step=self._recorder.clock.steps)
            self._outbox.send_now(self._link, beat, self._identity.rank)
            self._sent_at = now
        return True

    def leave(self, reason: str) -> None:
        """Send the rest and go."""
        if self._runner is not None:
            self._runner.shutdown(reason)
        if not self._greeted:
            self._greet()
        self._collect(at_end=True)
        self._read_back(at_end=True)
        self._facts.close()
        self._outbox.post(
            Goodbye(
                **BLANK,
                reason=reason,
                dropped=self._outbox.dropped,
                errors=self._recorder.border.errors + self._outbox.unsayable,
            )
        )
        self._outbox.send(self._link, self._identity.rank)
        self._link.flush(_LEAVE_S)

    # From the hub

    def _obey(self, message: ToRank) -> None:
        if isinstance(message, Welcome):
            if self._hub_pid not in (0, message.hub_pid):
                self._greet()
            self._hub_pid = message.hub_pid
        elif isinstance(message, AskHello):
            self._greet()
        elif isinstance(message, ArmWindow):
            # the hub may see the folder under another path, but it is that of this run
            if PurePath(message.directory).parts[-2:] == PurePath(self._run.profiles).parts[-2:]:
                self._arm(message)
            else:
                self._decline(message, f"{message.directory} is not the folder of this run")
        elif self._runner is not None:
            self._runner.cancel(message.window_id)

    def _follow_window(self) -> None:
        """Have the training thread know its steps in time for a window, and not earlier: it costs."""
        runner, recorder = self._runner, self._recorder
        if runner is None or not runner.active:
            return
        if runner.recording:
            runner.keep_watch()
            return
        margin = _WINDOW_MARGIN + round(3 * self._step_rate)
        near = runner.begins_at - recorder.clock.steps <= margin
        if near and not recorder.live:
            recorder.go_live()
        elif recorder.live and not near:
            recorder.live = False

    def _arm(self, order: ArmWindow, shortened: str | None = None) -> None:
        if self._runner is None:
            try:
                from perftui.trainer.profiling.window import WindowRunner as Runner  # brings the profiler
            except ImportError as error:
                self._decline(order, str(error))
                return
            self._runner = Runner(self._outbox.post)
            self._recorder.window = self._runner
        self._recorder.pump()
        self._runner.arm(order, self._recorder.clock.steps, shortened)
        self._follow_window()

    def _decline(self, order: ArmWindow, reason: str) -> None:
        told = WindowReport(**BLANK, window_id=order.window_id, state="unsupported", reason=reason)
        self._outbox.post(told)

    def _arm_from_environment(self) -> None:
        wanted = wanted_window()
        if wanted is not None:
            self._arm(*order_of(wanted, self._run.profiles))
        self._recorder.window_expected = False

    # To the hub

    def _become(self, identity: Identity) -> None:
        rank_changed = identity.rank != self._identity.rank
        self._identity = identity
        if rank_changed:
            self._link.close()
            self._link = self._connect()
        self._greet()

    def _greet(self) -> None:
        in_force = self._in_force or read_in_force(self._recorder, self._run.settings)
        who = self._identity
        hello = Hello(
            **BLANK,
            protocol=PROTOCOL_VERSION,
            pid=os.getpid(),
            start_ticks=start_ticks(),
            local_rank=who.local_rank,
            world_size=who.world_size,
            python=platform.python_version(),
            torch=str(torch.__version__),
            device=in_force.device or "unknown",
            command=command(),
            wall_offset_ns=self._wall_offset_ns,
            gpu_uuid=in_force.gpu_uuid,
            trial=self._run.trial,
            rank_known=who.known,
            pid_namespace=pid_namespace(),
        )
        self._greeted = self._outbox.send_now(self._link, hello, who.rank)
        self._in_force = None
        self._facts.forget()
        self._read_back_at = 0.0

    def _read_back(self, *, at_end: bool) -> None:
        in_force = read_in_force(self._recorder, self._run.settings, at_end=at_end)
        if in_force != self._in_force:
            self._in_force = in_force
            self._outbox.post(
                Effective(
                    **BLANK,
                    settings=in_force.settings,
                    failed=in_force.failed,
                    loader=in_force.loader,
                    device=in_force.device,
                    gpu_uuid=in_force.gpu_uuid,
                    read_ahead=in_force.read_ahead,
                )
            )
        for message in self._facts.read(time.perf_counter_ns(), in_force, at_end=at_end):
            self._outbox.post(message)

    def _collect(self, *, at_end: bool = False) -> None:
        recorder = self._recorder
        recorder.pump()
        steps = _drain(recorder.reader.steps)
        self._post_steps(steps)
        self._plan_sleep(steps)
        saves, gaps_found = _drain(recorder.saves), _drain(recorder.reader.gaps)
        self._facts.phases.note(steps, gaps_found, saves)
        for save in saves:
            self._saves.add(save.at_ns, save)
        for at_ns, value in _drain(recorder.loss.ready):
            self._losses.add(at_ns, value)
        for gap in gaps_found:
            self._gaps.add(gap.at_ns + _AFTER, gap)
        self._times.note(steps)
        self._post_placed(self._saves.placed(), self._losses.placed())
        gaps = [*self._gaps.placed()]
        if at_end:
            step = recorder.clock.steps
            self._post_placed(self._saves.rest(step), self._losses.rest(step))
            gaps += self._gaps.rest(step)
        for step, gap in gaps:
            self._outbox.post(validation_event(gap, step))
            self._interrupted.append(step)
        self._post_device(steps)
        now = time.perf_counter_ns()
        for report in recorder.border.take_reports():
            self._outbox.post(RankEvent(**BLANK, at_ns=now, event="probe_error", text=report))
        for path in self._run.take_written():
            self._outbox.post(RankEvent(**BLANK, at_ns=now, event="written", text=path))

    def _post_steps(self, steps: list[StepRecord]) -> None:
        recorder = self._recorder
        self._step_rate = max(self._step_rate * _RATE_FADES, len(steps))
        hook_ns = recorder.cost.total_ns(recorder.reader.stamps_read, recorder.clock.steps)
        shadow = self._shadow_log.note(steps, _drain(recorder.sleep.done))
        for frame in consecutive(steps):
            self._outbox.dropped += frame[0].step - self._next_step
            self._next_step = frame[-1].step + 1
            batch = step_batch(
                frame, time.thread_time_ns(), hook_ns or 0, 0 if hook_ns is None else self._next_step, shadow
            )
            self._outbox.post(batch)
            for event in events_of(frame):
                self._outbox.post(event)

    def _plan_sleep(self, steps: list[StepRecord]) -> None:
        """Let the hooks sleep now and then, but not in what is measured otherwise."""
        recorder, plan = self._recorder, self._shadow_plan
        plan.note(steps)
        if recorder.wanted_sleep is None:
            busy = self._run.trial or recorder.sampling.stride == 1 or (self._runner and self._runner.active)
            recorder.sleep_one_of(0 if busy else plan.every(len(self._shadow_log), recorder.sleep.broken))

    def _post_device(self, steps: list[StepRecord]) -> None:
        sampling = self._recorder.sampling
        for at_ns, marks in _drain(sampling.device.ready):
            times = device_times(marks)
            if times is not None:
                self._device.add(at_ns + _AFTER, times)
        placed = [(step, times) for step, times in self._device.placed() if step not in self._interrupted]
        if placed:
            self._outbox.post(device_steps(placed))
        if steps and sampling.sampled and sampling.wanted is None:
            step_us = sum(step.wall_ns for step in steps) / len(steps) / 1e3
            sampling.stride = stride_within(sampling.spent_ns / sampling.sampled / 1e3, step_us)

    def _post_placed(self, saves: Iterable[tuple[int, Save]], losses: Iterable[tuple[int, float]]) -> None:
        for step, save in joined_saves(saves):
            self._outbox.post(checkpoint_event(save, step))
        for step, value in losses:
            self._outbox.post(LossSample(**BLANK, step=step, value=value))


def _drain(queue: deque[T]) -> list[T]:
    return [queue.popleft() for _ in range(len(queue))]
