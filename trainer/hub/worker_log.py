"""The loader workers of one rank over time, and all of them taken together. Pure."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import msgspec

from perftui.ipc.host_view import FoundBy, LoaderWorkers, WorkerView
from perftui.trainer.hub.even_sample import EvenSample
from perftui.trainer.known_values import mean_of_known

_RECENT = 5
_LEAST_CERTAIN: tuple[FoundBy, ...] = ("kin", "name", "told")
_MEANS = (
    "cpu_share", "cpu_share_max", "cpu_wait_share", "io_wait_share", "blocked_share", "socket_share",
    "lock_share", "rss_mib", "major_faults_per_s", "read_mib_s", "storage_read_mib_s",
)  # fmt: skip


def together(views: Sequence[WorkerView]) -> LoaderWorkers | None:
    """Return the workers of one rank at one look as one; None when there is none, and none has just ended.

    A mean or a sum of figures of which one is missing is missing.
    """
    if not views:
        return None
    living = [view for view in views if not view.gone]

    def mean(figure: Callable[[WorkerView], float | None]) -> float | None:
        total = _sum(map(figure, living))
        return None if total is None or not living else total / len(living)

    return LoaderWorkers(
        count=len(living),
        age_s=0.0,
        running=sum(view.state == "R" for view in living),
        blocked=sum(view.state == "D" for view in living),
        gone=len(views) - len(living),
        threads=sum(view.threads or 0 for view in living),
        cpu_share=mean(lambda view: view.cpu_share),
        cpu_share_max=max((view.cpu_share for view in living if view.cpu_share is not None), default=None),
        cpu_wait_share=mean(lambda view: view.cpu_wait_share),
        io_wait_share=mean(lambda view: view.io_wait_share),
        blocked_share=mean(lambda view: view.blocked_share),
        socket_share=mean(lambda view: view.waits_for_socket),
        lock_share=mean(lambda view: view.waits_for_lock),
        rss_mib=_sum(view.rss_mib for view in living),
        major_faults_per_s=_sum(view.major_faults_per_s for view in living),
        read_mib_s=_sum(view.read_mib_s for view in living),
        storage_read_mib_s=_sum(view.storage_read_mib_s for view in living),
        found_by=min((view.found_by for view in views), key=_LEAST_CERTAIN.index),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def over(looks: Sequence[LoaderWorkers]) -> LoaderWorkers | None:
    """Return the mean of some looks at one rank's workers; counts are those of the newest look."""
    if not looks:
        return None
    means: dict[str, float | None] = {}
    for name in _MEANS:
        means[name] = mean_of_known(getattr(look, name) for look in looks)
    return msgspec.structs.replace(looks[-1], **means)


class WorkerLog:
    """Looks at one rank's workers: the newest five, and every n-th over the whole run."""

    def __init__(self) -> None:
        self.newest: LoaderWorkers | None = None
        self.seen_unix = 0.0
        """When the newest look was taken."""
        self._recent: deque[LoaderWorkers] = deque(maxlen=_RECENT)
        self._whole: EvenSample[LoaderWorkers] = EvenSample()

    def add(self, look: LoaderWorkers | None, unix: float, *, training: bool) -> None:
        """Take in a look; None: there are no workers."""
        self.newest, self.seen_unix = look, unix
        if look is None:
            self._recent.clear()
            return
        if not look.count:
            return
        self._recent.append(look)
        if training:
            self._whole.add(look)

    def recent(self) -> LoaderWorkers | None:
        """Return the mean of the last looks, about ten seconds."""
        return over(self._recent)

    def whole(self) -> LoaderWorkers | None:
        """Return the mean over the training so far."""
        return over(self._whole.kept) or self.recent()

    def at(self, now: float) -> LoaderWorkers | None:
        """Return the newest look, with its age at `now` (unix seconds)."""
        if self.newest is None:
            return None
        return msgspec.structs.replace(self.newest, age_s=max(0.0, now - self.seen_unix))
