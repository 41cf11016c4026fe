"""Two recorded runs against each other: what can be said of one launch each, and what cannot."""

import dataclasses
import math
from collections.abc import Callable

import msgspec
import pytest

from perftui.ipc.messages import FLAG_COMPILING, StepBatch
from perftui.trainer.tuning.compare_verb import compare_text
from perftui.trainer.tuning.recorded_run import RecordedRun, recorded_run
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Noise
from perftui.trainer.tuning.run_comparison import RunComparison, compare_runs, why_incomparable
from tests.tuning.made_runs import MadeRun

LEARNED = Noise(0.005, 8.0)
"""Of a quiet host, of which the ledger has repeats."""
BEFORE = MadeRun("before", settings={"loader.num_workers": 0})
AFTER = MadeRun("after", started=1_000_100.0, step_s=0.08, settings={"loader.num_workers": 4}, seed=9)


def read(made: MadeRun, commit: str | None = None) -> RecordedRun:
    return recorded_run(made.description(), made.entries(), commit)


def compared(a: MadeRun = BEFORE, b: MadeRun = AFTER, noise: Noise = LEARNED) -> RunComparison:
    return compare_runs(read(a), read(b), noise)


def after(**changes: object) -> MadeRun:
    return dataclasses.replace(AFTER, **changes)  # type: ignore[arg-type]


def test_a_clear_gain_on_a_known_and_quiet_host_is_faster() -> None:
    told = compared()
    assert told.held_back == []
    assert told.verdict.verdict == "faster"
    assert told.verdict.gain == pytest.approx(0.25, abs=0.01)
    assert told.verdict.lo is not None
    assert 0.15 < told.verdict.lo < 0.25
    assert told.verdict.launches == 2
    assert told.verdict.sentence.startswith("B is 1.25 times as fast")
    assert told.verdict.loss == "loss at step 350: 1.5 in A, 1.5 in B; the seeds are the scripts' own"
    assert (told.per, told.launch_noise_learned, told.remarks) == ("step", True, [])


def test_the_other_way_round_it_is_slower_by_the_same_factor() -> None:
    forth, back = compared(), compared(AFTER, BEFORE)
    assert back.verdict.verdict == "slower"
    assert forth.verdict.gain is not None
    assert back.verdict.gain is not None
    assert (1 + forth.verdict.gain) * (1 + back.verdict.gain) == pytest.approx(1, abs=1e-9)


def test_what_the_host_hides_is_not_decided() -> None:
    told = compared(b=after(step_s=0.098))
    assert told.verdict.verdict == "inconclusive"
    assert told.verdict.lo is not None
    assert told.verdict.hi is not None
    assert told.verdict.lo < 0 < told.verdict.hi


def test_two_equal_runs_are_never_told_apart_and_never_proved_equal() -> None:
    words = {compared(b=after(step_s=0.1, seed=seed)).verdict.verdict for seed in range(20)}
    assert words == {"inconclusive"}


def test_more_steps_do_not_make_up_for_a_single_launch() -> None:
    gains = [compared(dataclasses.replace(BEFORE, steps=n), after(steps=n)).verdict for n in (300, 3000)]
    widths = [gain.hi - gain.lo for gain in gains if gain.hi is not None and gain.lo is not None]
    assert widths[1] > 0.8 * widths[0]


def test_a_host_of_which_nothing_is_known_gives_a_provisional_verdict() -> None:
    told = compared(b=after(step_s=0.05), noise=DEFAULT_NOISE)
    assert told.verdict.verdict == "provisional"
    assert told.verdict.gain == pytest.approx(1.0, abs=0.02)
    assert [reason.split(" is not known")[0] for reason in told.held_back] == [
        "how much launches of one setting differ on this host"
    ]
    assert not told.launch_noise_learned


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"others_busy": 3.0, "step_s": 0.04}, "other work kept 3.0 cores of the host busy during B"),
        ({"others_busy": None}, "whether others computed on the host during B was not measured"),
        ({"started": 1_000_010.0}, "they ran at the same time and got in each other's way"),
        ({"started": 1_040_000.0}, "11 h lie between them: the host may have changed"),
        ({"samples": -1}, "how many samples a step of B holds is not known: steps may not be equal work"),
    ],
)
def test_what_recorded_runs_lack_holds_the_verdict_back(changes: dict[str, object], reason: str) -> None:
    told = compared(b=after(**changes))
    assert told.held_back == [reason]
    assert told.verdict.verdict == "provisional"
    assert f"  held back: {reason}" in compare_text(told)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"clock_mhz": 1500.0}, "the GPUs ran at 1900 MHz during A and at 1500 MHz during B"),
        ({"foreign": True}, "others used a GPU during B"),
        ({"gpu_uuid": None}, "which GPU B ran on is not known"),
    ],
)
def test_a_gpu_in_another_state_holds_the_verdict_back(changes: dict[str, object], reason: str) -> None:
    gpu: dict[str, object] = {"device": "cuda:0", "gpu_uuid": "GPU-1", "clock_mhz": 1900.0}
    told = compared(dataclasses.replace(BEFORE, **gpu), after(**{**gpu, **changes}))  # type: ignore[arg-type]
    assert told.held_back == [reason]
    assert told.verdict.verdict == "provisional"
    alike = compared(dataclasses.replace(BEFORE, **gpu), after(**gpu))  # type: ignore[arg-type]
    assert (alike.held_back, alike.verdict.verdict) == ([], "faster")


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ({}, {"host": "other"}, "A ran on vm, B on other: different hosts"),
        ({}, {"device": "cuda:0", "gpu_uuid": "GPU-1"}, "A ran on cpu, B on cuda: different devices"),
        (
            {"device": "cuda:0", "gpu_uuid": "GPU-1"},
            {"device": "cuda:0", "gpu_uuid": "GPU-2"},
            "A ran on GPU-1, B on GPU-2: different GPUs",
        ),
    ],
)
def test_other_hardware_is_not_compared(a: dict[str, object], b: dict[str, object], reason: str) -> None:
    first = dataclasses.replace(BEFORE, **a)  # type: ignore[arg-type]
    assert why_incomparable(read(first), read(after(**b))) == reason
    assert why_incomparable(read(first), read(first)) is None


def test_noisy_steps_are_refused() -> None:
    told = compared(b=after(noise=0.6))
    assert told.verdict.verdict == "too_noisy"
    assert told.verdict.gain is None
    assert "2.0 % is the limit" in told.verdict.sentence


def test_too_few_steps_are_no_measurement() -> None:
    told = compared(b=after(steps=40))
    assert told.verdict.verdict == "failed"
    assert told.verdict.gain is None
    assert told.verdict.sentence == (
        "A cannot be measured: of 40 steps that both recordings have, 30 are steady: 60 are needed"
    )
    assert compared(b=after(steps=0)).verdict.verdict == "failed"


def test_a_long_run_is_compared_by_the_part_that_the_short_one_has() -> None:
    long = MadeRun("long", steps=2000, noise=0.001)

    def slow_down(batch: StepBatch) -> StepBatch:
        factor = 1 if batch.first_step < 400 else 3
        return msgspec.structs.replace(batch, wall_ns=[wall * factor for wall in batch.wall_ns])

    told = compare_runs(altered(long, slow_down), read(after(step_s=0.1)), LEARNED)
    assert told.verdict.gain == pytest.approx(0, abs=0.01)
    assert told.a.launch.step_ms == pytest.approx(100, rel=0.01)


def altered(made: MadeRun, change: Callable[[StepBatch], StepBatch]) -> RecordedRun:
    entries = list(made.entries())
    for at, entry in enumerate(entries):
        if isinstance(entry.message, StepBatch):
            entries[at] = type(entry)(unix=entry.unix, message=change(entry.message))
    return recorded_run(made.description(), entries, None)


def test_steps_that_compiled_do_not_count() -> None:
    def compile_some(batch: StepBatch) -> StepBatch:
        if batch.first_step < 300:
            return batch
        slow = [wall * 50 for wall in batch.wall_ns]
        return msgspec.structs.replace(batch, wall_ns=slow, flags=[FLAG_COMPILING] * len(slow))

    told = compare_runs(altered(BEFORE, compile_some), read(AFTER), LEARNED)
    assert told.a.launch.step_ms == pytest.approx(100, rel=0.01)
    assert told.verdict.gain == pytest.approx(0.25, abs=0.01)


def test_another_batch_size_is_compared_per_sample() -> None:
    told = compared(b=after(samples=16, step_s=0.16))
    assert told.per == "sample"
    assert told.verdict.gain == pytest.approx(0.25, abs=0.01)
    assert "per sample" in told.verdict.sentence
    assert any("speed alone does not say" in remark for remark in told.remarks)
    assert ("samples a step", "8", "16") in [(each.name, each.a, each.b) for each in told.differences]


def test_the_slowest_rank_sets_the_pace_and_samples_are_of_all_ranks() -> None:
    told = compared(dataclasses.replace(BEFORE, ranks=2, slow_rank_s=0.05), after(ranks=2))
    assert told.a.launch.step_ms == pytest.approx(150, rel=0.01)
    assert told.a.samples_per_step == 16
    assert told.a.launch.samples_per_s == pytest.approx(16 / 0.15, rel=0.01)


def test_ranks_that_were_started_again_count_from_their_newest_start() -> None:
    first, second = dataclasses.replace(BEFORE, step_s=0.5), BEFORE
    entries = [*first.entries(pid=7), *second.entries(pid=8)]
    told = compare_runs(recorded_run(BEFORE.description(), entries, None), read(AFTER), LEARNED)
    assert told.a.launch.step_ms == pytest.approx(100, rel=0.01)
    assert "ranks of A were started again 1 times: the newest ones are taken" in told.remarks


def test_differences_are_told_with_what_they_do_to_the_training() -> None:
    a = read(
        dataclasses.replace(BEFORE, settings={"loader.num_workers": 0, "precision.tf32": False}), "1" * 40
    )
    b = read(after(torch="2.13.0", command=("python", "other.py")), "2" * 40)
    told = compare_runs(a, b, LEARNED)
    assert [(each.name, each.a, each.b, each.semantics) for each in told.differences] == [
        ("loader.num_workers", "0", "4", "neutral"),
        ("precision.tf32", "false", None, "numeric"),
        ("command", "python train.py", "python other.py", None),
        ("commit", "1" * 40, "2" * 40, None),
        ("torch", "2.14.1", "2.13.0", None),
    ]
    assert told.remarks == ["5 things differ: the figure is of all of them together"]


def test_what_is_not_known_of_one_run_does_not_differ() -> None:
    told = compare_runs(read(BEFORE, "1" * 40), read(after(settings=BEFORE.settings)), LEARNED)
    assert told.differences == []
    assert told.remarks == ["nothing that perftui knows of differs: what shows is the noise between launches"]


def test_what_follows_from_another_setting_is_no_difference_of_its_own() -> None:
    before = dataclasses.replace(BEFORE, settings={"loader.num_workers": 0, "loader.prefetch_factor": None})
    told = compared(before, after(settings={"loader.num_workers": 4, "loader.prefetch_factor": 2}))
    assert [each.name for each in told.differences] == ["loader.num_workers"]


def test_text_says_what_would_settle_it() -> None:
    told = compared(noise=DEFAULT_NOISE)
    lines = compare_text(told)
    assert lines[-1] == "to settle it: perftui relaunch before --set loader.num_workers=4"
    assert "loader.num_workers  0  4  neutral" in lines
    assert not any("to settle" in line for line in compare_text(compared()))
    other = compare_text(compared(b=after(command=("python", "other.py")), noise=DEFAULT_NOISE))
    assert other[-1].startswith("to settle it: run both again in turns")


def test_the_interval_is_that_of_one_launch_each() -> None:
    told = compared(noise=LEARNED)
    assert told.verdict.hi is not None
    assert told.verdict.lo is not None
    half = (math.log1p(told.verdict.hi) - math.log1p(told.verdict.lo)) / 2
    # sqrt(2 tau^2 + drift^2) = 1.22 %, times Student's t of 98 %, between 10 and 40 degrees of freedom
    assert 2.42 * 0.01225 < half < 2.85 * 0.01225
