"""Has the loader workers' stacks sampled while a window records, and keeps them for later readers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from perftui.ipc.messages import WindowReport
from perftui.ipc.run_files import read_record, write_record
from perftui.ipc.worker_stacks import WorkerStacks
from perftui.trainer.hub.hub_window import HubWindow
from perftui.trainer.telemetry.stack_fold import Worker
from perftui.trainer.telemetry.worker_stacks import StackSampler

_RECORDING = frozenset(("warming", "recording"))
_RECORDED = frozenset(("saving", "done", "truncated"))
_JUST_S = 10.0
_FAR_MAX = 8192
_NOTES_MAX = 8


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """`WINDOW.workers.json`."""

    stacks: list[WorkerStacks]
    notes: list[str] = []


class WindowStacks:
    """The stacks of the windows of one run.

    Args:
        folder: where the results are kept.
        replay: nothing is sampled, what was is shown.
    """

    def __init__(self, folder: Path, *, replay: bool) -> None:
        self._folder = folder
        self._replay = replay

    def sample(
        self,
        window: HubWindow,
        reports: Mapping[int, WindowReport],
        workers: Sequence[Worker],
        now: float,
    ) -> bool:
        """Go on with a window; True while its workers are being looked at.

        Args:
            window: the window.
            reports: what its ranks have told.
            workers: living loader workers of these ranks.
            now: unix time, by the clock by which the window was asked for.
        """
        if window.stacks is not None:
            return False
        file = self._folder / f"{window.window_id}.workers.json"
        if self._replay or (window.adopted and file.exists()):
            self._take(window, read_record(file, _Kept) or _Kept(stacks=[]))
            return False
        waited_for = [report for rank, report in reports.items() if rank not in window.lost]
        recording = any(report.state in _RECORDING for report in waited_for)
        if window.sampler is None:
            if not (recording or _has_just_recorded(window, reports, now)):
                return False
            window.sampler = StackSampler()
        if window.sampler.tick(workers, wanted=recording):
            return True
        stacks, notes = window.sampler.result()
        self._take(window, _Kept(stacks=stacks, notes=notes))
        self._keep(window, notes)
        return False

    def add(self, window: HubWindow, stacks: Sequence[WorkerStacks], notes: Sequence[str]) -> None:
        """Take in what another host's hub has seen of its workers."""
        room = _FAR_MAX - len(window.far_stacks)
        window.far_stacks += stacks[: max(0, room)]
        window.notes += notes[:_NOTES_MAX]
        self._keep(window, notes)

    def _keep(self, window: HubWindow, notes: Sequence[str]) -> None:
        file = self._folder / f"{window.window_id}.workers.json"
        stacks = [*(window.stacks or []), *window.far_stacks]
        if not stacks and not notes:
            return
        try:
            write_record(file, _Kept(stacks=stacks, notes=list(notes)))
        except OSError as error:
            window.notes.append(f"{file.name} could not be written: {error.strerror}")

    def _take(self, window: HubWindow, kept: _Kept) -> None:
        window.stacks = kept.stacks
        window.notes += kept.notes


def _has_just_recorded(window: HubWindow, reports: Mapping[int, WindowReport], now: float) -> bool:
    """Whether the whole recording lay between two looks, and not in the days of a hub before this one."""
    if not any(report.state in _RECORDED for report in reports.values()):
        return False
    return not window.adopted or bool(window.seen) or now - window.requested_unix < _JUST_S
