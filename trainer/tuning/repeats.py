"""Launches of one setting that the ledger holds more than once: what they differ by is launch noise. Pure."""

from collections.abc import Iterator, Sequence

import msgspec

from perftui.ipc.ledger_records import Comparison, Launch
from perftui.trainer.tuning.verdict import SE_LIMIT

_CLOSE_S = 1800.0
"""Launches further apart differ by what became of the host in between, which is not noise of launches."""
_OF_A_GROUP = 4
"""As many as a comparison has; over more of them a slow drift would count as noise."""


def repeats_of(lines: Sequence[Comparison]) -> list[list[float]]:
    """Return groups of `log_step_s` of well-measured launches of one command, setting and set of GPUs.

    Comparisons of one training that follow each other measure its settings in force again each time, so
    groups reach over comparisons, as long as launches lie close together. A launch that two comparisons share
    counts once.

    Args:
        lines: comparisons of one host.
    """
    by_setting: dict[bytes, dict[str, Launch]] = {}
    for line in lines:
        for launch in line.launches:
            if _is_well_measured(launch):
                same = (line.command, line.commit, launch.settings, sorted(launch.gpu_uuids))
                key = msgspec.json.encode(same, order="deterministic")
                by_setting.setdefault(key, {})[launch.run_id] = launch
    return [group for launches in by_setting.values() for group in _close(list(launches.values()))]


def _is_well_measured(launch: Launch) -> bool:
    return (
        launch.log_step_s is not None
        and launch.se is not None
        and launch.se <= SE_LIMIT
        and launch.settled
        and launch.outcome != "running"
    )


def _close(launches: Sequence[Launch]) -> Iterator[list[float]]:
    """Yield runs of launches that lie close together in time, where there are two at least."""
    group: list[float] = []
    last_unix = 0.0
    for launch in sorted(launches, key=lambda launch: launch.started_unix):
        if len(group) == _OF_A_GROUP or (group and launch.started_unix - last_unix > _CLOSE_S):
            if len(group) > 1:
                yield group
            group = []
        last_unix = launch.started_unix
        group.append(launch.log_step_s or 0.0)
    if len(group) > 1:
        yield group
