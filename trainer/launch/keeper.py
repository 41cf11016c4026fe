"""The training's parent: starts it, drains it, keeps its hub alive, stops it, and records how it ended.

Standard library only, no sockets, a session of its own: nothing of ours that can fail stands above the
training. Run as `python -m perftui.trainer.launch.keeper STATE_FOLDER`; it goes on in the background, and the
command returns as soon as the training has been started.
"""

import os
import shutil
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

from perftui.trainer.launch.child import CgroupKills, drop_inherited_files, spawn
from perftui.trainer.launch.console import ConsoleLog, Streams, open_streams
from perftui.trainer.launch.family import Family, hears, send_signal
from perftui.trainer.launch.hub_process import HubProcess
from perftui.trainer.launch.keeper_files import (
    Ended,
    KeeperOrder,
    note_in_description,
    read_order,
    read_stop,
    record_exit,
)
from perftui.trainer.launch.outcome import Ending, last_lines, outcome_of
from perftui.trainer.launch.signals import FROM_THE_KEYBOARD, SignalInbox
from perftui.trainer.launch.stop_ladder import Rung, StopLadder, StopOrder, restarts_ranks
from perftui.trainer.telemetry.processes import is_alive, start_ticks

_PRIVATE = 0o077
"""The keeper's own umask: what it writes is the user's alone."""
_TICK_S = 0.25
_RECORD_EVERY_S = 10.0
_BY_THEMSELVES_S = 2.0
"""How long what a killed command leaves behind may take to end before it is asked."""
_PARENT_GONE_GRACE_S = 5.0
_SIGNAL_COUNTS_S = 60.0
"""A training that ends this soon after a forwarded signal was ended by it."""
_TROUBLES_KEPT = 20
_STALLED_S = 5.0
_LINGER_S = 60.0
"""How long a stalled reader is waited for when the exit has been recorded and nobody writes any more."""
_STOPPED_BY_SIGNAL = {signal.SIGINT: "interrupt", signal.SIGTERM: "terminate"}


class Keeper:
    """One training, from its start to its exit record."""

    def __init__(self, order: KeeperOrder, state: Path) -> None:
        self._order = order
        self._state = state
        self._umask = os.umask(_PRIVATE)
        self._log = ConsoleLog(state / "console.log", order.console_bytes)
        self._inbox = SignalInbox()
        self._hub = HubProcess(order.hub, state, self._umask, self._read_ends)
        self._streams: Streams | None = None
        self._kills = CgroupKills()
        self._started = time.monotonic()
        self._wall_offset_s = time.time() - self._started  # the clock may be set while the training runs
        self._ladder: StopLadder | None = None
        self._forwarded: tuple[signal.Signals, float] | None = None
        self._interrupted: list[tuple[int, int]] = []
        """(pid, start ticks) of those that heard the newest SIGINT."""
        self._next_record = 0.0
        self._troubles = 0

    def run(self, ready: int) -> None:
        """Start the training, say so on `ready`, and stay until it has ended."""
        streams = self._streams = open_streams(self._order.stdio, self._log)
        try:
            self._child = spawn(self._order, streams, self._umask)
        except OSError as error:
            self._never_started(error, ready)
            return
        self._inbox.install()
        streams.started()
        drop_inherited_files(keep=ready)
        self._family = Family(self._order.run_id, self._child.pid, start_ticks(self._child.pid))
        self._note_pids()
        with suppress(OSError):  # who waits for it may have been killed: the training goes on
            os.write(ready, b"+")
        os.close(ready)
        self._supervise()
        self._end(streams)

    def _read_ends(self) -> list[int]:
        """Return the reading ends of the training's output, which a hub holds in case this process dies."""
        return [] if self._streams is None else self._streams.sources()

    def _note_pids(self) -> None:
        pids = {"keeper_pid": os.getpid(), "training_pid": self._child.pid}
        ticks = {
            "keeper_start_ticks": start_ticks(os.getpid()),
            "training_start_ticks": start_ticks(self._child.pid),
        }
        known = {name: value for name, value in ticks.items() if value is not None}
        try:
            note_in_description(self._state, {**pids, **known})
        except (OSError, ValueError):  # a full disk: the run is not listed, the training goes on
            self._report_trouble()

    def _supervise(self) -> None:
        while self._child.poll() is None:
            try:
                self._tick(time.monotonic())
            except Exception:  # noqa: BLE001 (outermost loop: whatever fails in here, the training goes on)
                self._report_trouble()
            if self._ladder is not None and self._ladder.rung is Rung.GAVE_UP:
                return
            for number in self._inbox.wait(_TICK_S):
                self._on_signal(number)

    def _tick(self, now: float) -> None:
        self._look_for_stop(now)
        if self._ladder is not None:
            self._ladder.tick(now)
        self._keep_hub(now)
        if now >= self._next_record:
            self._next_record = now + _RECORD_EVERY_S
            self._family.record()

    def _report_trouble(self) -> None:
        self._troubles += 1
        if self._troubles <= _TROUBLES_KEPT:
            _write_traceback(self._state)

    def _keep_hub(self, now: float) -> None:
        if self._order.hub:
            self._hub.tick(now)

    def _look_for_stop(self, now: float) -> None:
        order = read_stop(self._state)
        if order is not None:
            if self._ladder is None:
                self._begin_stop(order, now)
            else:
                self._ladder.renew(order)
        parent = self._order.die_with
        if self._ladder is None and parent is not None and not is_alive(*parent):
            self._begin_stop(StopOrder("parent", grace_s=_PARENT_GONE_GRACE_S), now)

    def _begin_stop(self, order: StopOrder, now: float) -> None:
        self._ladder = self._new_ladder(order, now)
        self._ladder.begin()

    def _new_ladder(self, order: StopOrder, now: float) -> StopLadder:
        return StopLadder(order, self._family, self._child.pid, restarts_ranks(self._order.command), now)

    def _on_signal(self, number: signal.Signals) -> None:
        if number is signal.SIGTERM and self._order.die_with is not None:
            if self._ladder is None:
                self._begin_stop(StopOrder("terminate", grace_s=_PARENT_GONE_GRACE_S), time.monotonic())
            return
        if number in _STOPPED_BY_SIGNAL:
            self._forwarded = (number, time.monotonic())
        if self._child.poll() is not None:
            return
        with suppress(OSError):
            self._family.record()  # whom the command leaves behind, should it end by this
        with suppress(OSError):  # it has ended
            if number in FROM_THE_KEYBOARD:
                os.killpg(self._child.pid, number)  # as a terminal does
                if number is signal.SIGINT:
                    self._interrupted = hears(self._family.group(self._child.pid), number)
            else:
                self._child.send_signal(number)

    def _on_late_signal(self, number: signal.Signals, ladder: StopLadder) -> None:
        """Pass on what comes when the command has ended, and its training is at its end still."""
        if number in FROM_THE_KEYBOARD:
            for pid, ticks in self._family.group(self._child.pid).items():
                send_signal(pid, ticks, number)
        elif number is signal.SIGTERM:
            ladder.ask_again()

    def _end(self, streams: Streams) -> None:
        for number in self._inbox.wait(0.0):
            self._on_signal(number)
        stopped_by = self._stopped_by()
        survivors = self._clear_away(stopped_by)
        streams.settle(_STALLED_S, time.monotonic)
        code = self._child.poll()
        ended = self._describe(-int(signal.SIGKILL) if code is None else code, stopped_by, survivors)
        if self._order.temporary is not None:
            shutil.rmtree(self._order.temporary, ignore_errors=True)
        self._last_chance_for_hub()
        try:
            record_exit(self._state, ended)
        finally:
            streams.drain_on(_LINGER_S, time.monotonic)
            self._log.close()

    def _clear_away(self, stopped_by: str | None) -> list[int]:
        """End what the command left behind: after a stop, a signal, a trial or a death.

        A command that ended well may have left something on purpose, as without us: a TensorBoard, say.

        Returns:
            Pids of what cannot be ended.
        """
        if self._may_leave(stopped_by):
            return []
        ended = time.monotonic()
        ladder, asks_after_s = self._ladder, 0.0
        if ladder is None:
            grace_s = StopOrder.grace_s if self._order.die_with is None else _PARENT_GONE_GRACE_S
            ladder = self._new_ladder(StopOrder(stopped_by or "its own end", grace_s=grace_s), ended)
            asks_after_s = _BY_THEMSELVES_S if stopped_by is None else 0.0
        heard = self._interrupted if stopped_by == _STOPPED_BY_SIGNAL[signal.SIGINT] else []
        while left := self._family.alive():
            now = time.monotonic()
            if (order := read_stop(self._state)) is not None:
                ladder.renew(order)
            if now - ended >= asks_after_s:
                ladder.command_ended(now, heard)
            ladder.tick(now)
            if ladder.rung is Rung.GAVE_UP:
                return sorted(left)
            for number in self._inbox.wait(0.1):
                self._on_late_signal(number, ladder)
        return []

    def _may_leave(self, stopped_by: str | None) -> bool:
        """Whether what the command left behind is its own affair."""
        code = self._child.poll()
        if self._ladder is not None or self._order.die_with is not None or code is None:
            return False
        return code == 0 or (code > 0 and stopped_by is None)

    def _describe(self, code: int, stopped_by: str | None, survivors: list[int]) -> Ended:
        text = self._log.tail()
        ending = Ending(
            exit_code=code,
            stopped_by=stopped_by,
            text=text,
            lived_s=time.monotonic() - self._started,
            stepped=(self._state / "stepped").exists(),
            host_kills=self._kills.since(),
        )
        return Ended(
            exit_code=code,
            ended_unix=time.monotonic() + self._wall_offset_s,
            outcome=outcome_of(ending),
            stopped_by=ending.stopped_by,
            last_lines=last_lines(text),
            survivors=survivors,
            hub_restarts=self._hub.restarts,
        )

    def _stopped_by(self) -> str | None:
        if self._ladder is not None:
            return self._ladder.order.stopped_by
        if self._forwarded is not None and time.monotonic() - self._forwarded[1] < _SIGNAL_COUNTS_S:
            return _STOPPED_BY_SIGNAL.get(self._forwarded[0])
        return None

    def _last_chance_for_hub(self) -> None:
        """A hub that died just now is started once more: it reads its recording and writes the summary."""
        if self._order.hub and not self._hub.is_alive():
            self._hub.start_now(time.monotonic())

    def _never_started(self, error: OSError, ready: int) -> None:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        line = os.fsencode(f"{self._order.command[0]}: {error.strerror}").decode("utf-8", "replace")
        ended = Ended(code, time.time(), "died_at_start", last_lines=[line])
        record_exit(self._state, ended)
        os.write(ready, b"+")


def main(arguments: list[str]) -> int:
    """Go to the background and keep one training; the foreground returns when it has been started."""
    state = Path(arguments[0])
    read_end, write_end = os.pipe()
    if os.fork():
        os.close(write_end)
        # at once: under PYTHONINSPECT an interpreter that ends asks for more
        os._exit(0 if os.read(read_end, 1) == b"+" else 1)
    os.close(read_end)
    os.setsid()
    try:
        Keeper(read_order(state), state).run(write_end)
    except Exception:  # noqa: BLE001 (outermost border of the supervisor: it is kept for reading)
        _write_traceback(state)
        return 1
    return 0


def _write_traceback(state: Path) -> None:
    with suppress(OSError), (state / "keeper.log").open("a", encoding="utf-8") as log:
        traceback.print_exc(file=log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
