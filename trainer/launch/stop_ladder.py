"""How a training is stopped: asked first, with time to write a checkpoint; killed only in the end.

1. SIGTERM to each rank's own pid. Never to its group: loader workers would die first, and the rank would fail
   on them instead of saving. An agent that restarts failed ranks is asked itself instead.
2. The grace is over, or the ranks are gone and the command is not: SIGTERM to the command.
3. What outlives the command is asked as the ranks were, and has what is left of the grace.
4. SIGKILL to everything that is of this run, until nothing is left or the kernel will not let go of it.

Standard library only: part of the keeper, which calls `tick` a few times a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from perftui.trainer.launch.family import Family, ask_to_end, kill_all
from perftui.trainer.telemetry.processes import is_alive, process_stat, start_ticks

AFTER_RANKS_S = 10.0
"""How long a command may take to end after all its ranks have."""
ORPHANS_S = 10.0
"""How long processes may take that outlive the command and everything that was asked."""
AGENT_S = 10.0
KILL_S = 10.0


@dataclass(frozen=True)
class StopOrder:
    """What was asked: `StopRequest` as the keeper reads it."""

    stopped_by: str
    trainers: tuple[tuple[int, int], ...] = ()
    """(pid, start ticks) of the ranks; none: the command itself is the trainer."""
    grace_s: float = 30.0


class Rung(Enum):
    """Where on the ladder we are."""

    ASKED_RANKS = 1
    ASKED_COMMAND = 2
    KILLING = 3
    GAVE_UP = 4


_ASKED = (Rung.ASKED_RANKS, Rung.ASKED_COMMAND)


@dataclass
class StopLadder:
    """One stop, from the question to the last process."""

    order: StopOrder
    family: Family
    command_pid: int
    restarts_ranks: bool
    """Whether the command starts a rank again that ends by a signal."""
    started: float
    rung: Rung = Rung.ASKED_RANKS
    _since: float = 0.0
    _ranks_gone: float | None = None
    _command_gone: float | None = None
    _asked: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    _heard: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Those that know of the end by a signal of somebody else, and have their time without being asked."""

    def begin(self) -> None:
        """Take the first rung."""
        self.family.record()
        self._since = self.started
        trainers = [] if self.restarts_ranks else [t for t in self.order.trainers if self.family.owns(*t)]
        command_ticks = start_ticks(self.command_pid)
        if not trainers and command_ticks is not None:
            trainers = [(self.command_pid, command_ticks)]
        self._asked = [rank for rank in trainers if ask_to_end(*rank)]

    def renew(self, order: StopOrder) -> None:
        """Take a later order: only its grace counts, so that a second request can hurry."""
        self.order = StopOrder(self.order.stopped_by, self.order.trainers, order.grace_s)

    def tick(self, now: float) -> None:
        """Go on to the next rung when it is time."""
        if self._command_gone is not None and self.rung in _ASKED:
            self._after_command(now, self._command_gone)
        elif self.rung is Rung.ASKED_RANKS and self._ranks_had_their_time(now):
            self._ask_command(now)
        elif self.rung is Rung.ASKED_COMMAND and now - self._since >= AGENT_S:
            self._enter(Rung.KILLING, now)
        if self.rung is Rung.KILLING:
            left = kill_all(self.family)
            if left and now - self._since >= KILL_S:
                self._enter(Rung.GAVE_UP, now)

    def command_ended(self, now: float, heard: Sequence[tuple[int, int]] = ()) -> None:
        """The command has ended; ask what it left behind, such as the training under a shell script.

        Args:
            now: on the monotonic clock.
            heard: (pid, start ticks) of those that are at their end already: interrupted, they may be saving.
        """
        if self._command_gone is None:
            self._command_gone = now
            self._heard = list(heard)
            self._ask_left()

    def ask_again(self) -> None:
        """Ask those as well that have only been interrupted."""
        self._heard = []
        self._ask_left()

    def _ask_left(self) -> None:
        """Ask those above whom nobody is left; when a launcher under a script has ended, its ranks are."""
        members = self.family.alive()
        for pid, ticks in members.items():
            stat = process_stat(pid)
            if stat is None or stat.parent in members or (pid, ticks) in [*self._asked, *self._heard]:
                continue
            if ask_to_end(pid, ticks):
                self._asked.append((pid, ticks))

    def _after_command(self, now: float, gone: float) -> None:
        self._ask_left()
        in_grace = now - self.started < self.order.grace_s
        if in_grace and any(is_alive(*each) for each in [*self._asked, *self._heard]):
            return
        if not in_grace or now - gone >= ORPHANS_S:
            self._enter(Rung.KILLING, now)

    def _ranks_had_their_time(self, now: float) -> bool:
        if now - self.started >= self.order.grace_s:
            return True
        if any(is_alive(*rank) for rank in self._asked):
            return False
        self._ranks_gone = self._ranks_gone or now
        return now - self._ranks_gone >= AFTER_RANKS_S

    def _ask_command(self, now: float) -> None:
        ticks = start_ticks(self.command_pid)
        if ticks is None or [(self.command_pid, ticks)] == self._asked:
            self._enter(Rung.KILLING, now)
            return
        ask_to_end(self.command_pid, ticks)
        self._enter(Rung.ASKED_COMMAND, now)

    def _enter(self, rung: Rung, now: float) -> None:
        self.rung = rung
        self._since = now
        self.family.record()


def restarts_ranks(command: list[str]) -> bool:
    """Whether the command line asks torchrun, or what is built on it, to restart ranks that end."""
    for place, word in enumerate(command):
        name, equals, value = word.partition("=")
        if name.replace("_", "-") == "--max-restarts":
            count = value if equals else (command[place + 1] if place + 1 < len(command) else "0")
            return count.strip() != "0"
    return False
