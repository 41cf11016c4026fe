"""What killed hubs leave behind is cleared away, and nothing that is still in use."""

import fcntl
import os
import time
from pathlib import Path

from perftui.ipc.places import RunPlaces, make_run_places, runtime_root
from perftui.trainer.launch.leftovers import clear_leftovers


def _ended(name: str, seconds_ago: float) -> RunPlaces:
    places = make_run_places(name)
    (places.runtime / "ranks.sock").touch()
    places.exit_record.touch()
    then = time.time() - seconds_ago
    os.utime(places.exit_record, (then, then))
    return places


def test_only_runs_that_ended_long_ago_and_have_no_hub_are_cleared(home: Path) -> None:
    old, served, young = (_ended(name, ago) for name, ago in (("old", 500), ("served", 500), ("young", 5)))
    running = make_run_places("running")
    (runtime_root() / "job-1.json").touch()
    with served.hub_lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        clear_leftovers()
        kept = {path.name for path in runtime_root().iterdir()}
    assert kept == {"served", "young", "running", "job-1.json"}
    assert old.state.is_dir()
    for places in (running, young):
        assert places.runtime.is_dir()
