"""Of many ranks a dashboard is told all about those that it looks at more closely, and the rest in brief."""

from dataclasses import dataclass

import msgspec

from perftui.ipc.view import GpuView, HostView


@dataclass(frozen=True)
class Near:
    """What one dashboard looks at more closely, where there are many ranks."""

    ranks: frozenset[int]
    anew: bool
    """It has not been told of these ranks in full so far."""


class GpuReadings:
    """The newest reading of all GPUs, with the update number at which it came."""

    def __init__(self) -> None:
        self._views: list[GpuView] = []
        self._changed = 0

    def refresh(self, views: list[GpuView], number: int) -> None:
        """Take the newest reading; it is told again only when it is another one."""
        if views is not self._views:
            self._views, self._changed = views, number

    def told(self, since: int | None) -> list[GpuView] | None:
        """Return what is newer than an update; None: nothing."""
        return self._views if since is None or self._changed > since else None


class HostReadings:
    """The newest reading of all hosts, with the update number at which it came or grew a second older."""

    def __init__(self) -> None:
        self._views: list[HostView] = []
        self._ages: list[tuple[str, int]] = []
        self._changed = 0

    def refresh(self, views: list[HostView], number: int) -> None:
        """Take the newest reading, as old as it is."""
        ages = [(view.name, int(view.age_s)) for view in views]
        fresh = any(view.age_s < old.age_s for view, old in zip(views, self._views, strict=False))
        if fresh or ages != self._ages:
            self._ages, self._changed = ages, number
        self._views = views

    def told(self, since: int | None, near: Near | None) -> list[HostView] | None:
        """Return what is newer than an update, with the workers of the near ranks alone; None: nothing."""
        if near is None:
            return self._views
        if since is not None and self._changed <= since and not near.anew:
            return None
        return [
            msgspec.structs.replace(
                view, workers=[worker for worker in view.workers if worker.rank in near.ranks]
            )
            for view in self._views
        ]
