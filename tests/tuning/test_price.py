"""What the trials cost in time, told from a run's picture."""

import msgspec
import pytest

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.settings import SettingValue
from perftui.ipc.view import Header, RankView, StepStats
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.predictor import estimate_trials
from perftui.trainer.tuning.price import price_of_leading, price_of_trials

HEADER = Header(
    run_id="r", name="n", host="h", command=["x"], state="training", started_unix=0.0, elapsed_s=30.0
)
RANK = RankView(
    rank=0,
    host="h",
    pid=1,
    state="training",
    age_s=0.0,
    device="cpu",
    gpu_uuid=None,
    world_size=2,
    steps=100,
    epoch=0,
    boundary="optimizer",
    window_steps=100,
    step_ms=StepStats(mean=100.0, p50=100.0, p90=100.0, p99=100.0),
)
SLOWER = msgspec.structs.replace(RANK, rank=1, step_ms=StepStats(mean=200.0, p50=1.0, p90=1.0, p99=1.0))
CHANGE: dict[str, SettingValue] = {"loader.num_workers": 4}
ADVICE = Finding(code="a", severity="info", share=0.0, sentence="", remedy=Remedy(advice="look"))
FIX = Finding(code="b", severity="info", share=0.5, sentence="", remedy=Remedy(set=CHANGE, expected=2.0))


def test_the_slowest_rank_and_the_start_set_the_price() -> None:
    caps = Caps(steps=200)
    price = price_of_trials(HEADER, [RANK, SLOWER], CHANGE, 2.0, caps)
    assert price == estimate_trials(10.0, 200.0, 2.0, 4, steps_cap=200)


def test_a_long_run_says_nothing_of_its_start() -> None:
    old = msgspec.structs.replace(RANK, steps=50_000)
    header = msgspec.structs.replace(HEADER, elapsed_s=9000.0)
    assert price_of_trials(header, [old], CHANGE, None) == estimate_trials(10.0, 100.0, None, 4)


def test_before_a_step_was_measured_there_is_no_price() -> None:
    assert price_of_trials(HEADER, [msgspec.structs.replace(RANK, step_ms=None)], CHANGE, 2.0) is None
    assert price_of_leading(HEADER, [], [FIX]) is None


def test_the_first_remedy_by_settings_is_priced() -> None:
    about, most = price_of_leading(HEADER, [RANK], [ADVICE, FIX]) or pytest.fail("no price")
    assert 0 < about < most
    assert price_of_leading(HEADER, [RANK], [ADVICE]) is None
