"""What a search does next: on made-up trainings of which the truth is known, and at its single decisions."""

import math
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perftui.ipc.search_records import Begun, Measured, Picture, Proposal
from perftui.ipc.settings import Semantics, check_together, semantics_of
from perftui.trainer.tuning.search.guards import most_waiting_workers
from perftui.trainer.tuning.search.next_move import (
    FINAL_CODE,
    Known,
    LaunchMove,
    StopMove,
    next_move,
)
from perftui.trainer.tuning.search.promise import promised_se
from perftui.trainer.tuning.search.state import NO_WORD, fold
from perftui.trainer.tuning.search.visible import smallest_visible

from .made_search import launch
from .simulated_job import NOISE, PLAN, Job, random_jobs, search, sitting

STARVED = Job(40.0, 0.5, 6.0, 3.0, 0.2, 0.3)
KNOWN = Known(NOISE, 8.0)
STRENGTH: dict[Semantics, int] = {"neutral": 0, "numeric": 1, "changes-training": 2}


# The whole search against a known truth


def test_a_starved_job_gets_its_loader_and_then_the_rest_within_ten_trials() -> None:
    run = search(STARVED, random.Random(1), sitting("numeric"))
    assert run.stopped is not None
    assert run.stopped.reason == "nothing_left"
    first, *others = run.state.trials
    assert len(others) <= 9
    assert first.proposal.set == {"loader.num_workers": 6}
    assert first.kept
    assert run.state.best["precision.autocast"] == "bf16"
    assert STARVED.step_ms(run.state.best)[0] < 1.1 * STARVED.best_ms("numeric")
    final = run.state.final
    assert final is not None
    assert final.verdict is not None
    assert final.verdict.verdict == "faster"
    assert final.before == {}
    assert {each.settings == {} for each in final.launches if each.label == "A"} == {True}


def test_most_jobs_come_close_to_the_best_there_is_within_ten_trials() -> None:
    """Research §4.3: in the order of shares, 83 % of jobs reach 90 % of the gain, with six trials."""
    rng = random.Random(1)
    reached, trials = 0, list[int]()
    for job in random_jobs(rng, 40):
        run = search(job, rng, sitting("numeric"))
        trials.append(len(run.state.trials))
        start, best = job.step_ms({})[0], job.best_ms("numeric")
        reached += math.log(start / job.step_ms(run.state.best)[0]) >= 0.9 * math.log(start / best)
    assert max(trials) <= 10
    assert sorted(trials)[20] <= 8
    assert reached >= 30


def test_a_healthy_job_is_left_alone() -> None:
    healthy = Job(0.0, 0.1, 30.0, 3.0, 0.1, 0.3)
    run = search(healthy, random.Random(1), sitting("neutral"))
    assert [type(move) for move in run.moves] == [LaunchMove, StopMove]
    assert run.stopped is not None
    assert run.stopped.reason == "nothing_left"
    reasons = {each.reason for each in run.stopped.choice.aside}
    assert reasons == {"needs --allow numeric"}
    assert run.state.changed == {}


@pytest.mark.parametrize(("foreign_cores", "looks"), [(4.0, 1), (1.0, 2)])
def test_a_busy_noisy_host_is_refused_at_once_or_after_a_second_look(
    foreign_cores: float, looks: int
) -> None:
    noisy = Job(40.0, 0.5, 6.0, 3.0, 0.2, 0.3, se=0.05, foreign_cores=foreign_cores)
    run = search(noisy, random.Random(1), sitting())
    assert [type(move) for move in run.moves] == [LaunchMove] * looks + [StopMove]
    assert run.stopped is not None
    assert run.stopped.reason == "contended"


def test_noisy_steps_on_a_quiet_host_leave_only_obvious_wins() -> None:
    noisy = Job(40.0, 0.5, 6.0, 3.0, 0.2, 0.3, se=0.04, launch_sd=0.02)
    run = search(noisy, random.Random(1), sitting("neutral"))
    assert [(each.proposal.set, each.kept) for each in run.state.trials] == [
        ({"loader.num_workers": 6}, True)
    ]
    assert len(run.state.trials[0].launches) == 2
    assert smallest_visible(launch(se=0.04), NOISE) > 1.22


@pytest.mark.parametrize(("loader_ms", "se"), [(40.0, 0.04), (6.0, 0.0)])
def test_the_original_need_not_be_known_well_where_it_is_three_times_too_slow(
    loader_ms: float, se: float
) -> None:
    job = Job(loader_ms, 0.5, 6.0, 3.0, 0.2, 0.3)
    begun = fold(PLAN, [sitting("neutral")])
    seen = job.measured(LaunchMove("A", {}), random.Random(1), 1)
    assert seen.picture is not None
    assert promised_se(begun, "A", seen.picture, 0.0, KNOWN) == se


@pytest.mark.parametrize(("foreign_cores", "se"), [(0.1, 0.04), (0.41, 0.0), (1.0, 0.0), (None, 0.0)])
@pytest.mark.parametrize("final", [False, True])
def test_no_original_ends_early_for_a_promise_on_a_busy_host(
    final: bool, foreign_cores: float | None, se: float
) -> None:
    seen = Job(40.0, 0.5, 6.0, 3.0, 0.2, 0.3).measured(LaunchMove("A", {}), random.Random(1), 1)
    state = fold(PLAN, [sitting("neutral")])
    if final:
        proposal = Proposal(set={"loader.num_workers": 6}, code=FINAL_CODE, expected=4.0)
        state = fold(
            PLAN, [sitting("neutral"), seen, Begun(comparison_id="c", purpose="final", proposal=proposal)]
        )
        assert promised_se(state, "B", Picture(), foreign_cores, KNOWN) == 0.0
    assert seen.picture is not None
    assert promised_se(state, "A", seen.picture, foreign_cores, KNOWN) == se


def test_a_chain_uses_the_last_launch_again_and_the_final_does_not() -> None:
    run = search(STARVED, random.Random(1), sitting("numeric"))
    first, second = run.state.trials[:2]
    assert first.launches[0].run_id == run.state.first[0].launch.run_id
    if [each.label for each in first.launches] == ["A", "B"]:
        assert second.launches[0].run_id == first.launches[-1].run_id
        assert second.launches[0].label == "A"
    before = {each.run_id for trial in run.state.trials for each in trial.launches}
    final = run.state.final
    assert final is not None
    assert not before & {each.run_id for each in final.launches}


# What must never happen, whatever the job

JOBS = st.builds(
    Job,
    prepare_ms=st.floats(0, 100),
    launch_ms=st.floats(0.01, 50),
    product_ms=st.floats(0.1, 50),
    other_ms=st.floats(0.1, 50),
    copy_ms=st.floats(0.01, 20),
    optimizer_ms=st.floats(0.01, 20),
    cores=st.integers(1, 64),
    launch_sd=st.sampled_from((0.0, 0.003, 0.02, 0.2)),
    se=st.sampled_from((0.001, 0.005, 0.019, 0.05)),
    foreign_cores=st.sampled_from((0.0, 2.0)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    job=JOBS,
    seed=st.integers(0, 10**6),
    allow=st.sampled_from(("neutral", "numeric", "changes-training")),
    most_trials=st.integers(1, 10),
    minutes=st.one_of(st.none(), st.integers(1, 60)),
)
def test_it_ends_within_its_limits_and_proposes_nothing_twice_or_forbidden(
    job: Job, seed: int, allow: Semantics, most_trials: int, minutes: int | None
) -> None:
    run = search(job, random.Random(seed), sitting(allow, most_trials, minutes))
    assert run.stopped is not None
    state = run.state
    assert len(state.trials) <= most_trials
    launches = [move for move in run.moves if isinstance(move, LaunchMove)]
    if minutes is not None:
        assert 60.0 * len(launches) <= 60.0 * minutes
    seen = set[object]()
    for trial in state.trials:
        check_together(trial.after)
        key = state.configuration(trial.after)
        assert key not in seen
        assert key != state.configuration(PLAN.baseline)
        seen.add(key)
        assert STRENGTH[semantics_of(trial.proposal.set)] <= STRENGTH[allow]
        assert len(trial.launches) <= 4
        workers = trial.after.get("loader.num_workers", 0)
        assert isinstance(workers, int)
        assert workers <= most_waiting_workers(job.cores, 1)
    for each in run.stopped.choice.aside:
        assert each.reason
    if state.changed and minutes is None:
        assert state.final is not None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(job=JOBS, seed=st.integers(0, 10**6), cut=st.integers(0, 60), soon=st.booleans())
def test_a_search_that_is_killed_anywhere_goes_on_and_measures_nothing_twice(
    job: Job, seed: int, cut: int, soon: bool
) -> None:
    rng = random.Random(seed)
    whole = search(job, rng, sitting("numeric", 6))
    left = whole.entries[:cut]
    last = max((each.unix for each in left if isinstance(each, Measured)), default=0.0)
    again = search(job, rng, sitting("numeric", 6, unix=last + (60.0 if soon else 1e6)), left)
    assert again.stopped is not None
    state = again.state
    assert len(state.trials) <= 6
    decided = [
        state.configuration(each.after)
        for each in state.trials
        if each.verdict is not None and each.verdict.verdict not in NO_WORD
    ]
    assert len(decided) == len(set(decided))
    assert fold(PLAN, again.entries) == state
    for each in state.judged:
        times = [launch.started_unix for launch in each.launches]
        assert times == sorted(times)


@settings(max_examples=30, deadline=None)
@given(job=JOBS, seed=st.integers(0, 10**6))
def test_a_move_follows_from_the_state_alone(job: Job, seed: int) -> None:
    state = search(job, random.Random(seed), sitting("numeric", 3)).state
    assert next_move(state, KNOWN) == next_move(state, KNOWN)
