"""What benchmarks/verdict_aa.py says of launches: pairs, whole comparisons, exact intervals."""

import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.verdicts.binomial import exact_interval
from benchmarks.verdicts.pairs import summary_of
from benchmarks.verdicts.records import Campaign, ChainLaunch, Neighbour, read_campaign, write_campaign
from tests.made_ledger import measured_launch


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [  # printed tables, and binomial sums
        (0, 10, 0.0, 0.308497),
        (1, 10, 0.002529, 0.445016),
        (5, 10, 0.187086, 0.812914),
        (19, 20, 0.751270, 0.998735),
        (20, 20, 0.831566, 1.0),
        (0, 150, 0.0, 0.024293),
        (3, 150, 0.004144, 0.057334),
    ],
)
def test_exact_intervals(hits: int, of: int, low: float, high: float) -> None:
    assert exact_interval(hits, of) == pytest.approx((low, high), abs=1e-5)


def test_no_interval_of_nothing() -> None:
    with pytest.raises(ValueError, match="2 of 1 is no share"):
        exact_interval(2, 1)
    with pytest.raises(ValueError, match="0 of 0"):
        exact_interval(0, 0)


def chain(
    name: str, levels: list[float], *, labels: str = "", neighbour: Neighbour = "none", se: float = 0.003
) -> list[ChainLaunch]:
    return [
        ChainLaunch(
            chain=name,
            place=place,
            neighbour=neighbour,
            launch=measured_launch(
                "B" if labels[place : place + 1] == "B" else "A",
                math.exp(level),
                run_id=f"{name}{place}",
                log_step_s=level,
                se=se,
                started_unix=1000.0 * int(name) + place,
            ),
        )
        for place, level in enumerate(levels)
    ]


def summary(campaign: Campaign, part: str, of: str) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = summary_of(campaign)[part]
    (cell,) = [value for name, value in found.items() if name.startswith(of)]
    return cell


def test_neighbours_of_identical_settings_are_pairs_whichever_came_first() -> None:
    launches = chain("1", [-4.0, -4.001, -3.2]) + chain("2", [-4.0, -3.0], neighbour="bursts")
    campaign = Campaign(injected=1.0, threads=1, lane_cores=2, launches=launches)
    idle = summary(campaign, "idle", "pairs, nothing known")
    assert (idle["number"], idle["words"]) == (2, {"inconclusive": 1, "slower": 1})
    assert summary(campaign, "busy", "pairs, nothing known")["words"] == {"slower": 1}
    everything = summary(campaign, "all", "pairs, nothing known")
    assert everything["called faster or slower"] == {"number": 2, "share": 0.6667, "lo": 0.0943, "hi": 0.9916}


def test_refusals_say_why() -> None:
    campaign = Campaign(injected=1.0, threads=1, lane_cores=2, launches=chain("1", [-4.0, -4.0], se=0.04))
    found = summary(campaign, "idle", "pairs, nothing known")
    assert found["words"] == {"too_noisy": 1}
    assert found["why refused"] == {"too noisy to judge": 1}


def test_of_an_injected_change_only_a_and_b_are_pairs_each_once() -> None:
    levels = [math.log(0.011) if letter == "A" else math.log(0.01) for letter in "ABBAABBA"]
    launches = chain("1", levels, labels="ABBAABBA")
    campaign = Campaign(injected=1.1, threads=1, lane_cores=2, launches=launches)
    pairs = summary(campaign, "idle", "pairs, nothing known")
    # a tenth is not called after two launches where the host's noise is unknown
    assert (pairs["number"], pairs["words"]) == (4, {"inconclusive": 4})
    assert summary(campaign, "idle", "comparisons")["words"] == {"faster": 2}


def test_noise_is_learned_from_earlier_launches_alone() -> None:
    chance = random.Random(1)
    wild = [each for name in "12345" for each in chain(name, [chance.gauss(-4, 0.1) for _ in range(8)])]
    later = chain("9", [-4.0, -4.7])
    campaign = Campaign(injected=1.0, threads=1, lane_cores=2, launches=later)
    assert summary(campaign, "idle", "pairs, noise learned")["words"] == {"faster": 1}
    campaign.launches = [*wild, *later]
    words = summary(campaign, "idle", "pairs, noise learned")["words"]
    assert words.get("faster", 0) < 10
    campaign.launches = [*later, *chain("99", [-4.0, -3.0])]
    assert summary(campaign, "idle", "pairs, noise learned")["words"] == {"faster": 1, "slower": 1}


def test_a_campaign_is_kept_and_gone_on_with(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    write_campaign(target, Campaign(injected=1.0, threads=1, lane_cores=2, launches=chain("1", [-4.0, -4.0])))
    command = [sys.executable, "-m", "benchmarks.verdict_aa", str(target), "--minutes", "0"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert '"launches": 2' in done.stdout
    kept = read_campaign(target)
    assert kept is not None
    assert [each.place for each in kept.launches] == [0, 1]
    assert kept.summary["launches"] == 2
    other = [*command[:-1], "1", "--inject", "1.1"]
    refused = subprocess.run(other, cwd=root, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "take another file" in refused.stderr
