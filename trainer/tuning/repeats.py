"""Launches of one training that ran one after the other, by the ledger: they teach its noise. Pure."""

from collections.abc import Iterator, Sequence

import msgspec

from perftui.ipc.ledger_records import BROKEN, Comparison, Launch
from perftui.trainer.tuning.explained import without_cold
from perftui.trainer.tuning.noise import Seen
from perftui.trainer.tuning.verdict import SE_LIMIT

_CLOSE_S = 1800.0
"""Launches further apart differ by what became of the host in between, which is not noise of launches."""
_OF_A_WINDOW = 8
"""A host's drift is taken to be even over this many launches."""


def windows_of(lines: Sequence[Comparison]) -> list[list[Seen]]:
    """Return windows of well-measured launches in wall order, each of one command, commit and set of GPUs.

    Comparisons of one training that follow each other measure its settings in force again each time, so
    windows reach over comparisons where launches lie close together. A launch that two comparisons share
    counts once.

    Args:
        lines: comparisons of one host.
    """
    by_training: dict[bytes, dict[str, Launch]] = {}
    for line in lines:
        for launch in without_cold(line.launches):
            if _is_well_measured(launch):
                key = _word((line.command, line.commit, sorted(launch.gpu_uuids)))
                by_training.setdefault(key, {})[launch.run_id] = launch
    return [window for launches in by_training.values() for window in _windows(list(launches.values()))]


def _word(what: object) -> bytes:
    return msgspec.json.encode(what, order="deterministic")


def _is_well_measured(launch: Launch) -> bool:
    return (
        launch.log_step_s is not None
        and launch.se is not None
        and launch.se <= SE_LIMIT
        and launch.settled
        and launch.outcome not in BROKEN | {"running"}
    )


def _windows(launches: Sequence[Launch]) -> Iterator[list[Seen]]:
    window: list[Seen] = []
    last_unix = 0.0
    for launch in sorted(launches, key=lambda launch: launch.started_unix):
        if len(window) == _OF_A_WINDOW or (window and launch.started_unix - last_unix > _CLOSE_S):
            yield window
            window = []
        last_unix = launch.started_unix
        setting = _word(launch.settings).decode()
        window.append(Seen(setting, launch.log_step_s or 0.0, launch.se or 0.0, launch.foreign_cores or 0.0))
    if window:
        yield window
