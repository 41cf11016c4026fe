"""The side-by-side benchmark's own arithmetic: pairs, intervals, orders, tables."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rivals.arms import ALL_PHASES, ARMS, BASELINE, BY_NAME, arms_for
from benchmarks.rivals.cells import CELLS, GROUPS, chosen_groups
from benchmarks.rivals.evidence import Evidence, why_void
from benchmarks.rivals.paired import difference
from benchmarks.rivals.pairs import step_cost
from benchmarks.rivals.records import turns_of
from benchmarks.rivals.results import SCHEMA, Results, read_results, write_results
from benchmarks.rivals.table import markdown

HEAD: dict[str, Any] = {
    "schema": SCHEMA,
    "date": "2026-01-31",
    "machine": {"cpu": "a CPU", "cores": 2, "kernel": "6", "gpu": None},
    "versions": {"plain": {"torch": "2.14.1"}},
    "settings": {},
}


def _launch(
    arm: str, number: int, cpu_us: float, void: str | None = None, *, group: str = "mlp-4-w0", lines: int = 0
) -> dict[str, Any]:
    figure = {
        "cell": group,
        "steps": 100,
        "cpu_us": cpu_us,
        "cpu_block_median_us": cpu_us,
        "process_cpu_us": cpu_us + 5,
        "wall_us": 2 * cpu_us,
    }
    return {
        "group": group,
        "round": number,
        "arm": arm,
        "load_1m": 0.5,
        "waiting_share": 0.25,
        "first_step_s": 2.0 + (arm != BASELINE),
        "after_last_step_s": 0.5,
        "cpu_s": 3.0,
        "lines_out": lines,
        "lines_err": 0,
        "figures": [figure],
        "notes": [],
        "recorded": {} if arm == BASELINE else {"step": 100, "wait": 99, "forward": 0},
        "void": void,
    }


def test_a_constant_addition_is_found_under_a_drift_that_is_larger() -> None:
    plain = [300.0 + 40 * number for number in range(10)]
    found = difference(plain, [value + 25 for value in plain])
    assert (found.added, found.lo, found.hi, found.rounds) == (25, 25, 25, 10)
    assert found.plain == 480
    assert found.spread == 180
    assert found.seen


def test_noise_round_zero_is_not_called_seen() -> None:
    plain = [100.0] * 10
    found = difference(plain, [100 + sign * 7.0 for sign in (1, -1) * 5])
    assert found.lo == -7
    assert found.hi == 7
    assert not found.seen


@pytest.mark.parametrize(("plain", "other"), [([], []), ([1.0], [1.0, 2.0])])
def test_what_cannot_be_paired_is_an_error(plain: list[float], other: list[float]) -> None:
    with pytest.raises(ValueError, match="cannot be paired"):
        difference(plain, other)


def test_every_arm_stands_in_every_place_equally_often() -> None:
    arms = arms_for("cpu", None)
    rounds = 2 * len(arms)
    group = GROUPS[0]
    seen = Counter((t.arm.name, t.order) for number in range(rounds) for t in turns_of(group, arms, number))
    assert set(seen.values()) == {2}
    assert len(seen) == len(arms) ** 2


def test_cells_and_arms_are_chosen_by_name_and_the_baseline_always_runs() -> None:
    assert [group.name for group in chosen_groups("flood,mlp-4-w2")] == ["flood", "mlp-4-w2"]
    assert {cell for group in chosen_groups("cpu,gpu") for cell in group.cells} == set(CELLS)
    assert [arm.name for arm in arms_for("cpu", "perftui")] == [BASELINE, "perftui"]
    assert BY_NAME["gpuprof-cuda"] not in arms_for("cpu", None)
    with pytest.raises(ValueError, match="no cell is called 'gpt'"):
        chosen_groups("gpt")
    with pytest.raises(ValueError, match="no arm is called nsys"):
        arms_for("cpu", "nsys")


def test_each_arm_that_times_phases_must_prove_all_of_them() -> None:
    assert all(set(arm.phases) == set(ALL_PHASES) for arm in ARMS if arm.every_phase)


def test_a_tool_that_recorded_too_little_makes_its_figure_void() -> None:
    arm = BY_NAME["traceml-auto"]
    whole = Evidence(dict.fromkeys(ALL_PHASES, 1000))
    assert why_void(arm, whole, 1000, {}, may_lose=False) is None
    half = Evidence({**whole.recorded, "forward": 500})
    assert why_void(arm, half, 1000, {}, may_lose=False) == "of 1000 steps it recorded only: forward 500"
    assert why_void(arm, half, 1000, {}, may_lose=True) is None
    assert why_void(arm, Evidence(), 1000, {}, may_lose=True) == "it recorded no step"
    assert why_void(arm, Evidence(missing="gone"), 1000, {}, may_lose=False) == "gone"


def test_a_plain_process_with_somebody_elses_hooks_is_void() -> None:
    found = why_void(BY_NAME[BASELINE], Evidence(), 10, {"SGD.step": "x.py"}, may_lose=False)
    assert found == "a plain process is patched: SGD.step"


def test_only_rounds_in_which_both_are_good_are_paired() -> None:
    launches = [_launch(BASELINE, n, 100.0) for n in range(3)]
    launches += [_launch("perftui", 0, 110), _launch("perftui", 2, 130)]
    launches += [_launch("perftui", 1, 999, "exit code 1")]
    found = step_cost(Results(HEAD, launches), "mlp-4-w0", "perftui", "cpu_us")
    assert found is not None
    assert (found.rounds, found.added) == (2, 20)


def test_the_table_tells_what_was_added_how_surely_and_what_is_void() -> None:
    launches = [_launch(BASELINE, n, 100.0 + n) for n in range(6)]
    launches += [_launch("perftui", n, 112.0 + n) for n in range(6)]
    launches += [_launch("traceml-auto", n, 300.0, "exit code 1: no port") for n in range(6)]
    launches += [_launch(BASELINE, n, 90.0, group="flood") for n in range(6)]
    launches += [_launch("perftui", n, 99.0, group="flood", lines=2) for n in range(6)]
    text = markdown(Results(HEAD, launches))
    assert "some task waiting for a CPU during 25% of a plain process's life" in text
    assert "| perftui | **+12 (+12 to +12)** | +12 | +0 | **+24 (+24 to +24)** | +11.7% | 6 |" in text
    assert "| traceml-auto *(every phase)* | — | — | — | — | — | 0: exit code 1: no port |" in text
    assert "| perftui | **+1.00 (+1.00 to +1.00)** | +0.00 (+0.00 to +0.00) | +0.0" in text
    assert "| 2 | 5,051 |" in text
    assert "* perftui: `perftui run --no-tui`; recorded step, wait." in text


def test_a_result_is_read_back_and_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    assert read_results(path) is None
    written = Results(HEAD, [_launch(BASELINE, 0, 1.0), _launch(BASELINE, 3, 1.0)])
    write_results(path, written)
    found = read_results(path)
    assert found == written
    assert found is not None
    assert found.rounds_done("mlp-4-w0") == {0, 3}
    assert found.rounds_done("flood") == set()
    path.write_text("{}")
    with pytest.raises(ValueError, match="no result of this benchmark"):
        read_results(path)
