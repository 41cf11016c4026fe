"""The summary that a bounded run ends with: it waits for what its window found, and not for ever."""

import json
import os
import threading
import time
from collections.abc import Generator

import pytest

from perftui.ipc.hub_lock import take_hub_lock
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.trainer.launch import foreground
from perftui.trainer.launch.foreground import wait_for_summary


@pytest.fixture
def places(runtime_dirs: object) -> Generator[RunPlaces, None, None]:
    """A run whose hub lives."""
    made = make_run_places("bounded")
    lock = take_hub_lock(made.hub_lock)
    assert lock is not None
    yield made
    os.close(lock)


def _write(places: RunPlaces, state: str) -> None:
    document = {"exit_code": -15, "profiles": [{"state": state}]}
    whole = places.summary.with_suffix(".new")
    whole.write_text(json.dumps(document))
    whole.replace(places.summary)


def _state(summary: bytes) -> str:
    state: str = json.loads(summary)["profiles"][0]["state"]
    return state


def test_it_waits_until_the_window_is_analysed(places: RunPlaces) -> None:
    _write(places, "analysing")

    def later() -> None:
        time.sleep(0.5)
        _write(places, "done")

    thread = threading.Thread(target=later)
    thread.start()
    try:
        assert _state(wait_for_summary(places, 15.0)) == "done"
    finally:
        thread.join()


@pytest.mark.parametrize("state", ["done", "failed", "armed"])
def test_what_is_over_or_never_began_is_not_waited_for(places: RunPlaces, state: str) -> None:
    _write(places, state)
    assert _state(wait_for_summary(places, 15.0)) == state


def test_in_the_end_it_comes_without(places: RunPlaces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreground, "_ANALYSIS_WAIT_S", 0.3)
    _write(places, "analysing")
    assert _state(wait_for_summary(places, 15.0)) == "analysing"


def test_nobody_waits_where_no_summary_is_wanted(places: RunPlaces) -> None:
    _write(places, "recording")
    assert _state(wait_for_summary(places, 1.0)) == "recording"
