"""What the hooks cost, from steps they slept through and the awake ones beside these: pure.

Per slept step, the median of its awake neighbours less what it took itself; of these differences the median.
Under no cost at all both medians are of the same distribution, however skewed, so the figure is then zero in
the median. It is the cost of a usual step: what comes each tenth step (a look at the loss) is not in it.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import median
from typing import Final, NamedTuple

from perftui.ipc.messages import FLAG_ASLEEP
from perftui.ipc.step_record import StepRecord
from perftui.trainer.probe.sleeping import Slept

NEIGHBOURS: Final = 4
"""On each side."""
PAIRS_KEPT: Final = 512
PAIRS_LEAST: Final = 16
"""Before so many nothing is said."""


class Estimate(NamedTuple):
    """A difference and its standard error, in µs."""

    us: float
    se_us: float


class ShadowCost(NamedTuple):
    """What awake steps take more; `steps`: how many slept steps that stands on."""

    steps: int
    wall: Estimate
    cpu: Estimate | None
    """Of the training thread; None where its CPU time is not known."""


def median_of(differences: Sequence[float]) -> Estimate:
    """Return the median and its standard error, free of any distribution.

    The ranks n/2 ± √n/2 lie one standard error of the binomial(n, 1/2) off the median's, so half the distance
    of their values is that of the median (David and Nagaraja, Order Statistics, 3rd ed., 7.1).

    Args:
        differences: at least four, in µs.
    """
    ordered = sorted(differences)
    count = len(ordered)
    half = sqrt(count) / 2
    lower = max(0, round((count - 1) / 2 - half))
    upper = min(count - 1, round((count - 1) / 2 + half))
    return Estimate(median(ordered), (ordered[upper] - ordered[lower]) / 2)


class ShadowLog:
    """Pairs slept steps with their neighbours; keeps the newest pairs."""

    def __init__(self) -> None:
        self._steps: list[StepRecord] = []
        """The newest steps, as far back as a slept one may still need them."""
        self._waiting: deque[Slept] = deque()
        self._wall_us: deque[float] = deque(maxlen=PAIRS_KEPT)
        self._cpu_us: deque[float] = deque(maxlen=PAIRS_KEPT)
        self._cost: ShadowCost | None = None

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self._wall_us)

    def note(self, steps: Sequence[StepRecord], slept: Iterable[Slept]) -> ShadowCost | None:
        """Take what is new, oldest first, and return the cost by now; None while the pairs are few."""
        self._steps += steps
        self._waiting += slept
        paired = self._pair()
        self._let_go()
        if paired and len(self._wall_us) >= PAIRS_LEAST:
            cpu = median_of(self._cpu_us) if len(self._cpu_us) >= PAIRS_LEAST else None
            self._cost = ShadowCost(len(self._wall_us), median_of(self._wall_us), cpu)
        return self._cost

    def _let_go(self) -> None:
        """Forget the steps before the neighbours of the oldest slept one that waits."""
        needed = len(self._steps) - NEIGHBOURS - 1
        if self._waiting:
            begin_ns = self._waiting[0].begin_ns
            ended = bisect_right(self._steps, begin_ns, key=lambda step: step.end_ns)
            needed = min(needed, ended - NEIGHBOURS)
        del self._steps[: max(0, needed)]

    def _pair(self) -> bool:
        if not self._waiting:
            return False
        places = {step.end_ns - step.wall_ns: place for place, step in enumerate(self._steps)}
        newest_ns = self._steps[-1].end_ns if self._steps else 0
        paired = False
        while self._waiting:
            slept = self._waiting[0]
            place = places.get(slept.begin_ns)
            if place is None and newest_ns <= slept.begin_ns:
                break  # the step is not finished
            if place is not None and place + NEIGHBOURS >= len(self._steps):
                break  # nor are those after it
            self._waiting.popleft()
            if place is not None:
                paired |= self._compare(place, slept.rest_ns)
        return paired

    def _compare(self, place: int, rest_ns: int) -> bool:
        own = self._steps[place]
        around = self._steps[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1]
        whole = len(around) == 2 * NEIGHBOURS + 1 and around[-1].step - around[0].step == 2 * NEIGHBOURS
        beside = [step for step in around if step is not own and not step.flags]
        if not whole or own.flags != FLAG_ASLEEP or len(beside) < NEIGHBOURS:
            return False
        wall_ns = median(step.wall_ns for step in beside)
        self._wall_us.append((wall_ns - own.wall_ns + rest_ns) / 1e3)
        if own.cpu_ns >= 0 and all(step.cpu_ns >= 0 for step in beside):
            cpu_ns = median(step.cpu_ns for step in beside)
            self._cpu_us.append((cpu_ns - own.cpu_ns + rest_ns) / 1e3)
        return True
