"""Picks, out of a result, the rounds in which an arm and the plain process can be compared."""

from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.rivals.arms import BASELINE
from benchmarks.rivals.paired import Difference, difference
from benchmarks.rivals.results import Results

Launches = dict[tuple[str, int, str], dict[str, Any]]
"""Records by group, round and arm."""


def launches_of(results: Results) -> Launches:
    return {(launch["group"], launch["round"], launch["arm"]): launch for launch in results.launches}


def cells_in(results: Results) -> list[str]:
    """Return the names of the cells with figures, in the order in which they were first run."""
    names = (figure["cell"] for launch in results.launches for figure in launch["figures"])
    return list(dict.fromkeys(names))


def arms_in(results: Results, cell: str) -> list[str]:
    """Return the arms that were tried on a cell."""
    groups = {launch["group"] for launch in results.launches if _figure(launch, cell) is not None}
    return list(dict.fromkeys(launch["arm"] for launch in results.launches if launch["group"] in groups))


def step_cost(results: Results, cell: str, arm: str, figure: str) -> Difference | None:
    """Return what an arm adds to one figure of a cell, in microseconds a step; None without a good round."""
    pairs: list[tuple[float, float]] = []
    for plain, other in _good(results, arm):
        before, after = _figure(plain, cell), _figure(other, cell)
        if before is not None and after is not None:
            pairs.append((before[figure], after[figure]))
    return _difference(pairs)


def launch_cost(results: Results, arm: str, seconds: str, fits: Callable[[str], bool]) -> Difference | None:
    """Return what an arm adds to a figure of whole launches, over all groups whose name fits, in seconds."""
    pairs = [
        (plain[seconds], other[seconds])
        for plain, other in _good(results, arm)
        if fits(other["group"]) and plain.get(seconds) is not None and other.get(seconds) is not None
    ]
    return _difference(pairs)


def voids(results: Results, cell: str, arm: str) -> list[str]:
    """Return why rounds of an arm on a cell do not count."""
    groups = {launch["group"] for launch in results.launches if _figure(launch, cell) is not None}
    return [
        launch["void"]
        for launch in results.launches
        if launch["arm"] == arm and launch["group"] in groups and launch["void"]
    ]


def records(results: Results, cell: str, arm: str) -> list[dict[str, Any]]:
    """Return an arm's good launches of a cell."""
    return [
        launch
        for launch in results.launches
        if launch["arm"] == arm and not launch["void"] and _figure(launch, cell) is not None
    ]


def _good(results: Results, arm: str) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
    launches = launches_of(results)
    for (group, number, name), other in launches.items():
        plain = launches.get((group, number, BASELINE))
        if name == arm and plain is not None and not plain["void"] and not other["void"]:
            yield plain, other


def _figure(launch: dict[str, Any], cell: str) -> dict[str, Any] | None:
    figures: list[dict[str, Any]] = launch["figures"]
    return next((figure for figure in figures if figure["cell"] == cell), None)


def _difference(pairs: list[tuple[float, float]]) -> Difference | None:
    if not pairs:
        return None
    return difference([plain for plain, _ in pairs], [other for _, other in pairs])
