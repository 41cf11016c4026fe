"""What keeps trials apart from other measurements and from live runs on the same GPU."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.errors import Refused
from perftui.ipc.facts import RankFacts
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_lines import RunLine
from perftui.ipc.view import RankView, RelaunchView
from perftui.trainer.launch.start import request_stop, wait_for_exit
from perftui.trainer.tuning.alone import GpuInUse, may_use, measuring_alone, named_gpu, require_free_gpus
from perftui.trainer.tuning.plan import RelaunchPlan
from perftui.trainer.tuning.relaunch import relaunch
from perftui.trainer.tuning.relaunch_verb import relaunch_verb
from perftui.trainer.tuning.search.tune_verb import Asked, tune_verb
from tests.conftest import RuntimeDirs
from tests.tuning.made_updates import rank_view, update

from .live_runs import CAPS, PATIENCE_S, all_runs, private_runs, start_live

__all__ = ["private_runs"]

VISIBLE = "CUDA_VISIBLE_DEVICES"
FIRST = GpuInUse("live-1", "0", "GPU-aaaa-1")


@pytest.mark.parametrize(
    ("environ", "may"),
    [
        ({}, True),
        ({VISIBLE: "0"}, True),
        ({VISIBLE: "1"}, False),
        ({VISIBLE: "3, 0"}, True),
        ({VISIBLE: "3,2"}, False),
        ({VISIBLE: ""}, False),
        ({VISIBLE: "-1"}, False),
        ({VISIBLE: "1,-1,0"}, False),
        ({VISIBLE: "GPU-aaaa"}, True),
        ({VISIBLE: "GPU-bbbb"}, False),
    ],
)
def test_what_trials_may_see_decides(environ: dict[str, str], may: bool) -> None:
    assert may_use(FIRST, environ) is may


def test_what_cannot_be_compared_may_be_the_same() -> None:
    assert may_use(GpuInUse("live-1", None, None), {VISIBLE: "1"})
    assert may_use(GpuInUse("live-1", "GPU-aaaa", "GPU-aaaa-1"), {VISIBLE: "1"})
    assert may_use(GpuInUse("live-1", "0", None), {VISIBLE: "GPU-bbbb"})


def test_a_device_is_named_as_the_driver_counts_it() -> None:
    assert named_gpu("cuda:1", {}) == "1"
    assert named_gpu("cuda:1", {VISIBLE: "2,3"}) == "3"
    assert named_gpu("cuda", {VISIBLE: "GPU-aaaa"}) == "GPU-aaaa"
    assert named_gpu("cuda:5", {VISIBLE: "2,3"}) is None


def a_live_run(monkeypatch: pytest.MonkeyPatch, *devices: str, environment: dict[str, str] | None) -> None:
    """Have a live run train on these devices."""
    line = RunLine(run_id="live-1", name="live", pid=1, state="running", started=0.0, command=["x"])
    facts = RankFacts(environment=environment)

    def rank(place: int, device: str) -> RankView:
        return msgspec.structs.replace(rank_view(place, 9), device=device, facts=facts)

    view = update([rank(*each) for each in enumerate(devices)], [])

    def answer(_: RunPlaces) -> Update:
        return view

    monkeypatch.setattr("perftui.trainer.tuning.alone.list_runs", lambda: [line])
    monkeypatch.setattr("perftui.trainer.tuning.alone.live_picture", answer)


def test_trials_on_the_gpu_of_a_live_run_are_refused_and_how_to_do_it_all_the_same(
    runtime_dirs: RuntimeDirs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_live_run(monkeypatch, "cuda:0", "cuda:1", environment={VISIBLE: "2,3"})
    (tmp_path / "train.py").touch()
    monkeypatch.chdir(tmp_path)
    asked = Asked(command=[sys.executable, "train.py"])
    for given, word in ((None, "live-1 goes on on a GPU"), ("3", "live-1 goes on on a GPU"), ("1", "agreed")):
        monkeypatch.delenv(VISIBLE, raising=False)
        if given is not None:
            monkeypatch.setenv(VISIBLE, given)
        with pytest.raises(Refused, match=word) as told:
            tune_verb(asked, lambda _: "n")
        assert ("--beside" in str(told.value)) == (word != "agreed")
    monkeypatch.delenv(VISIBLE)
    with pytest.raises(Refused, match="agreed"):
        tune_verb(replace(asked, beside=True), lambda _: "n")


def test_live_runs_on_cpus_and_silent_ones_are_in_nobody_s_way(
    runtime_dirs: RuntimeDirs, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_live_run(monkeypatch, "cpu", environment={})
    require_free_gpus({})
    monkeypatch.setattr("perftui.trainer.tuning.alone.live_picture", unanswered)
    require_free_gpus({})


def unanswered(places: RunPlaces) -> None:
    raise Refused(f"{places.run_id} does not answer")


def test_a_relaunch_beside_another_measurement_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    live = start_live(tmp_path)
    views: list[RelaunchView] = []
    plan = RelaunchPlan(run_id=live.run_id, set={"loader.num_workers": 2}, caps=CAPS)
    with measuring_alone(), pytest.raises(Refused, match="another search or relaunch goes on"):
        relaunch(plan, views.append, lambda: False)
    assert views[-1].state == "failed"
    assert not live.exit_record.exists()
    request_stop(live, "user", grace_s=5.0)
    assert wait_for_exit(live, PATIENCE_S) is not None
    written: list[str] = []
    with measuring_alone(), pytest.raises(Refused, match="another search or relaunch goes on"):
        relaunch_verb(live.run_id, {"loader.num_workers": 2}, yes=True, caps=CAPS, write=written.append)
    assert len(all_runs()) == 1


def test_an_ended_run_is_not_measured_on_the_gpu_of_a_live_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = start_live(tmp_path)
    request_stop(ended, "user", grace_s=5.0)
    assert wait_for_exit(ended, PATIENCE_S) is not None
    a_live_run(monkeypatch, "cuda:0", environment={})
    monkeypatch.delitem(os.environ, VISIBLE, raising=False)
    change: dict[str, bool | int | str | None] = {"loader.num_workers": 2}
    with pytest.raises(Refused, match="--beside"):
        relaunch_verb(ended.run_id, change, write=lambda _: None, ask=lambda _: "n")
    with pytest.raises(Refused, match="not agreed to"):
        relaunch_verb(ended.run_id, change, beside=True, write=lambda _: None, ask=lambda _: "n")
