"""Gathers what a hub's updates say of one launch: raw step times, losses, effective settings, foreign load.

Apart from `measure.py` because it does no I/O: updates in, columns out.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.findings import Finding
from perftui.ipc.host_view import HostView
from perftui.ipc.ledger_records import Circumstances
from perftui.ipc.messages import FLAG_EPOCH_START, UNUSUAL_FLAGS
from perftui.ipc.settings import Settings
from perftui.ipc.view import RankView, RunState
from perftui.trainer.tuning.circumstances import CircumstancesLog


def slowest_s(columns: Sequence[Mapping[int, tuple[float, int]]]) -> list[float]:
    """Return seconds per step in order: of the slowest rank, where all have the step, unusual ones out.

    The slowest, because the others wait for it. First steps of an epoch stay in: the user pays for them.

    Args:
        columns: of each rank, wall milliseconds and flags by step.
    """
    return [slowest_ms / 1000 for slowest_ms, _ in _usual_steps(columns)]


def _usual_steps(columns: Sequence[Mapping[int, tuple[float, int]]]) -> list[tuple[float, int]]:
    """Return milliseconds of the slowest rank and flags of any, of the steps that count."""
    common = set(columns[0]).intersection(*columns[1:])
    found: list[tuple[float, int]] = []
    for index in sorted(common):
        cells = [column[index] for column in columns]
        slowest_ms = max(wall_ms for wall_ms, _ in cells)
        flags = reduce(or_, (flags for _, flags in cells))
        if slowest_ms > 0 and not flags & UNUSUAL_FLAGS:
            found.append((slowest_ms, flags))
    return found


class Collector:
    """State of one launch, folded from updates."""

    def __init__(self) -> None:
        self.ranks: dict[int, RankView] = {}
        self.losses: dict[int, float] = {}
        """Loss of the lowest rank by step, as far as it was seen."""
        self.state: RunState = "starting"
        self.message: str | None = None
        self.load_1m: float | None = None
        self.findings: list[Finding] = []
        """The newest judgement."""
        self.host: HostView | None = None
        self._steps: dict[int, dict[int, tuple[float, int]]] = {}
        self._foreign: list[float] = []
        self._samples: list[float] = []
        self._tokens: list[float] = []
        self._circumstances = CircumstancesLog()

    def take(self, update: Update) -> None:
        """Fold one update. A snapshot of a restarted hub adds to what is known, it does not replace it."""
        self.state = update.view.header.state
        self.message = update.view.header.message
        self.findings = update.view.findings
        for rank in update.view.ranks:
            self.ranks[rank.rank] = rank
        for part in update.history:
            if part.stride != 1:
                continue  # thinned: means of several steps are no raw steps
            steps = self._steps.setdefault(part.rank, {})
            for offset, (wall_ms, flags) in enumerate(zip(part.wall_ms, part.flags, strict=True)):
                steps[part.first_step + offset] = (wall_ms, flags)
        self._take_loss()
        self._take_host(update)

    def _take_loss(self) -> None:
        lead = self.ranks.get(min(self.ranks)) if self.ranks else None
        self.losses.update(lead.losses if lead else [])

    def _take_host(self, update: Update) -> None:
        if self._steps:
            self._circumstances.take(update.view)
            samples = _per_step(update.view.ranks, lambda rank: rank.samples_per_s)
            self._samples += [] if samples is None else [samples]
            tokens = _per_step(update.view.ranks, lambda rank: rank.tokens_per_s)
            self._tokens += [] if tokens is None else [tokens]
        for host in (update.view.hosts or [])[:1]:
            self.load_1m, self.host = host.load_1m, host
            if self._steps and host.cpu_busy is not None and host.run_busy is not None:
                self._foreign.append(max(0.0, host.cpu_busy - host.run_busy))

    def newest_step(self) -> int:
        """Return the newest step that any rank has finished; -1 before the first."""
        return max((max(steps) for steps in self._steps.values() if steps), default=-1)

    def foreign_cores(self) -> float | None:
        """Return the mean of cores busy with other work; None when it was never measured."""
        return sum(self._foreign) / len(self._foreign) if self._foreign else None

    def steps_s(self) -> list[float]:
        """Return seconds per step in order (`slowest_s`), once all ranks have reported some."""
        if not self._steps or set(self._steps) != set(self.ranks):
            return []
        return slowest_s(list(self._steps.values()))

    def epoch_starts(self, first: int) -> int:
        """Return with how many of `steps_s`, from place `first` on, an epoch began."""
        if not self._steps or set(self._steps) != set(self.ranks):
            return 0
        steps = _usual_steps(list(self._steps.values()))[first:]
        return sum(bool(flags & FLAG_EPOCH_START) for _, flags in steps)

    def effective(self) -> Settings:
        """Return settings as read back from live objects, of the lowest rank."""
        return dict(self.ranks[min(self.ranks)].settings) if self.ranks else {}

    def num_workers(self) -> int:
        """Return the most loader workers that a rank reports; 0 when none does."""
        values = [rank.settings.get("loader.num_workers") for rank in self.ranks.values()]
        return max((value for value in values if isinstance(value, int)), default=0)

    def samples_per_s(self) -> float | None:
        """Return samples per second over all ranks, where every rank knows its own."""
        rates = [rank.samples_per_s for rank in self.ranks.values()]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if known and len(known) == len(rates) else None

    def samples_per_step(self) -> float | None:
        """Return samples of a step over all ranks, mean over the updates; None where a rank does not know."""
        return sum(self._samples) / len(self._samples) if self._samples else None

    def tokens_per_step(self) -> float | None:
        """Return tokens of a step over all ranks, mean over the updates; None where a rank does not know."""
        return sum(self._tokens) / len(self._tokens) if self._tokens else None

    def circumstances(self) -> Circumstances:
        """Return what the launch ran under so far."""
        return self._circumstances.result()

    def why_not_applied(self, asked: Settings, *, final: bool) -> str | None:
        """Return why a setting is not in force, in words; None when all are, as far as is known.

        Args:
            asked: the settings of the launch.
            final: True when the ranks have had time to read everything back.
        """
        for rank in self.ranks.values():
            for name, value in asked.items():
                reason = _why_not(name, value, rank, final=final)
                if reason:
                    return f"rank {rank.rank}: {reason}" if len(self.ranks) > 1 else reason
        return None


def _per_step(ranks: Sequence[RankView], rate: Callable[[RankView], float | None]) -> float | None:
    """Return what a step of all ranks holds, by what each has a second."""
    found = 0.0
    for rank in ranks:
        per_s = rate(rank)
        if per_s is None or not rank.steps_per_s:
            return None
        found += per_s / rank.steps_per_s
    return found or None


def _why_not(name: str, value: object, rank: RankView, *, final: bool) -> str | None:
    if name in rank.settings_failed:
        return f"{name}={value} could not be applied: {rank.settings_failed[name]}"
    if name in rank.settings:
        in_force = rank.settings[name]
        return (
            None
            if in_force == value or not final
            else f"{name}={value} was asked for, {in_force} is in force"
        )
    if final:
        return f"{name}={value} could not be read back from the training"
    return None
