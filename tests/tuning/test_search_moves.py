"""The single decisions of a search: what is proposed, what is set aside and why, what comes next."""

import math

import msgspec
import pytest

from perftui.ipc.facts import BackendFacts, BatchFacts, BatchSignature, OptimizerFacts, RankFacts, TensorFacts
from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.ledger_records import Comparison, Verdict
from perftui.ipc.search_records import Begun, Judged, Measured, Picture, Proposal, Purpose, SearchEntry
from perftui.ipc.settings import Semantics, Settings, semantics_of
from perftui.trainer.tuning.judge import judge
from perftui.trainer.tuning.search.already import done_by_script
from perftui.trainer.tuning.search.calibration import calibrated, calibration_of
from perftui.trainer.tuning.search.ending import end_sentence
from perftui.trainer.tuning.search.guards import batch_mib, most_waiting_workers, most_workers, why_too_much
from perftui.trainer.tuning.search.next_move import (
    FINAL_CODE,
    BeginMove,
    JudgeMove,
    Known,
    LaunchMove,
    StopMove,
    next_move,
)
from perftui.trainer.tuning.search.proposals import Choice, propose
from perftui.trainer.tuning.search.state import SearchState, advance, begin, fold
from tests.made_ledger import made_comparison, made_launch

from .made_search import fp32, launch, measured, starved, state_with
from .simulated_job import NOISE, PLAN, sitting

KNOWN = Known(NOISE, 8.0)


def test_the_first_thing_is_the_original() -> None:
    state = advance(begin(PLAN), sitting())
    assert next_move(state, KNOWN) == LaunchMove("A", {})


def test_an_original_that_fails_ends_the_search_and_a_new_sitting_tries_again() -> None:
    state = advance(begin(PLAN), sitting())
    dead = made_launch(outcome="failed", note="boom")
    failed = Measured(launch=dead, unix=10.0, wall_s=1.0)
    state = advance(state, failed)
    assert next_move(state, KNOWN) == StopMove("baseline_failed")
    state = advance(state, sitting(unix=20.0))
    assert next_move(state, KNOWN) == LaunchMove("A", {})


def test_the_leading_finding_is_answered_first_whatever_others_promise() -> None:
    other = Finding(
        code="pause.gc",
        severity="warning",
        share=0.1,
        sentence="x",
        remedy=Remedy(set={"gc.freeze": True}, bound=9.0, expected=9.0),
    )
    move = next_move(state_with(starved(), other), KNOWN)
    assert isinstance(move, BeginMove)
    assert move.proposal.set == {"loader.num_workers": 4}
    assert (move.proposal.code, move.purpose) == ("input.workers", "trial")


def test_consequences_offer_nothing() -> None:
    finding = starved()
    hung = Finding(
        code=finding.code,
        severity="critical",
        share=0.8,
        sentence="x",
        remedy=finding.remedy,
        under="cpu.quota",
    )
    assert next_move(state_with(hung), KNOWN) == StopMove("nothing_left")


def test_numeric_changes_are_listed_and_not_tried_unless_allowed() -> None:
    stop = next_move(state_with(fp32(), device="cuda:0"), KNOWN)
    assert isinstance(stop, StopMove)
    told = {tuple(each.proposal.set): each.reason for each in stop.choice.aside}
    assert told == {
        ("precision.tf32",): "needs --allow numeric",
        ("precision.autocast",): "needs --allow numeric",
    }
    move = next_move(state_with(fp32(), allow="numeric", device="cuda:0"), KNOWN)
    assert isinstance(move, BeginMove)
    assert semantics_of(move.proposal.set) == "numeric"


def test_what_cannot_be_applied_or_cannot_be_seen_is_set_aside_with_the_reason() -> None:
    state = state_with(fp32(), starved(share=0.01), allow="numeric")
    choice = propose(state, 1.045, 8.0)
    assert choice.worthwhile == ()
    reasons = {tuple(each.proposal.set): each.reason for each in choice.aside}
    assert reasons["precision.tf32",] == "the training does not run on a GPU"
    assert "+1.0 % at most, and less than 4.5 % does not show here" in reasons["loader.num_workers",]


def comparison(name: str, expected: float, gain: float | None) -> Comparison:
    verdict = Verdict(verdict="faster" if gain else "failed", sentence="s", gain=gain)
    return made_comparison(set={name: True}, expected=expected, verdict=verdict)


def test_three_measurements_of_a_setting_correct_what_is_expected_of_it() -> None:
    halved = [comparison("gc.freeze", 1.21, gain) for gain in (0.10, 0.10, 0.5, 0.0, None)]
    calibration = calibration_of([*halved, *[comparison("cudnn.benchmark", 1.05, 0.5)] * 2])
    assert calibration == {"gc.freeze": pytest.approx(0.5)}
    assert calibrated(1.44, ["gc.freeze"], calibration) == pytest.approx(1.2)
    assert calibrated(1.44, ["optimizer.fused"], calibration) == 1.44
    assert calibrated(None, ["gc.freeze"], calibration) is None
    assert calibration_of([comparison("gc.freeze", 1.5, -0.3)] * 3) == {"gc.freeze": 0.2}


def test_the_end_of_a_search_teaches_nothing_of_predictions() -> None:
    trial = msgspec.structs.replace(
        comparison("gc.freeze", 1.5, 0.1), finding="pause.gc", parent="tune-made-1"
    )
    final = msgspec.structs.replace(comparison("gc.freeze", 1.1, 0.1), parent="tune-made-1")
    taught = calibration_of([trial] * 3)
    assert taught == {"gc.freeze": pytest.approx(math.log(1.1) / math.log(1.5))}
    assert calibration_of([*[final] * 9, *[trial] * 3]) == taught
    assert calibration_of([final] * 3) == {}
    by_hand = msgspec.structs.replace(final, parent="mine-1")
    assert calibration_of([by_hand] * 3) == {"gc.freeze": pytest.approx(1.0)}


def test_a_poor_record_alters_the_order_and_the_figure_not_whether_it_is_tried() -> None:
    state = state_with(fp32(), allow="numeric", device="cuda:0")
    plain = propose(state, 1.02, 8.0)
    assert [tuple(each.set) for each in plain.worthwhile] == [("precision.autocast",), ("precision.tf32",)]
    corrected = propose(state, 1.02, 8.0, {"precision.autocast": 0.2})
    assert [tuple(each.set) for each in corrected.worthwhile] == [
        ("precision.tf32",),
        ("precision.autocast",),
    ]
    assert corrected.worthwhile[1].expected == pytest.approx(1.4**0.2, abs=0.001)


def test_what_is_in_force_already_is_no_change() -> None:
    assert propose(state_with(starved(4), in_force={"loader.num_workers": 4}), 1.02, 8.0).worthwhile == ()


def test_what_the_script_does_itself_is_not_tried() -> None:
    backends = BackendFacts(cudnn_benchmark=True, float32_matmul_precision="high")
    fused = [OptimizerFacts(kind="SGD", groups=1, tensors=2, parameters=9, flags={"fused": True})]
    facts = RankFacts(backends=backends, optimizers=fused)
    for change in ({"cudnn.benchmark": True}, {"precision.tf32": True}, {"optimizer.fused": True}):
        assert done_by_script(dict(change), facts) == next(iter(change))
        assert done_by_script(dict(change), RankFacts()) is None
    assert done_by_script({"optimizer.foreach": True, "cudnn.benchmark": False}, facts) is None
    exact = RankFacts(backends=BackendFacts(float32_matmul_precision="highest", matmul_allow_tf32=True))
    assert done_by_script({"precision.tf32": True}, exact) is None


def test_more_workers_than_memory_for_their_batches_are_set_aside() -> None:
    tensors = [TensorFacts(shape=[256, 3, 224, 224], dtype="torch.float32", device="cpu")]
    batch = BatchFacts(looked=1, newest=BatchSignature(tensors=tensors), distinct_shapes=1)
    assert batch_mib(batch) == pytest.approx(147.0)
    picture = Picture(facts=RankFacts(batch=batch), shm_free_mib=64.0, memory_free_mib=1e6)
    reason = why_too_much({"loader.num_workers": 4}, picture, 8.0)
    assert reason == "batches loaded ahead would take 1176 MiB; 64 MiB of /dev/shm are free"
    assert why_too_much({"loader.num_workers": 4}, Picture(facts=RankFacts(batch=batch)), 8.0) is None
    assert [most_workers(2, 1), most_workers(8, 1), most_workers(8, 4)] == [4, 12, 3]
    assert [most_waiting_workers(2, 1), most_waiting_workers(8, 4)] == [16, 16]
    assert why_too_much({"loader.num_workers": 400}, Picture(), 8.0) is not None


def judged_trial(state: SearchState, change: Settings, log_step_s: float, word: str) -> SearchState:
    proposal = Proposal(set=change, code="input.workers", bound=5.0, expected=3.0)
    state = advance(state, Begun(comparison_id="c", purpose="trial", proposal=proposal))
    state = advance(state, measured(launch("B", {**state.best, **change}, log_step_s), starved(2, 0.3)))
    gain = {"faster": 1.0, "slower": -0.5}.get(word)
    verdict = Verdict(verdict=word, sentence="s", gain=gain)  # type: ignore[arg-type]
    return advance(state, Judged(verdict=verdict, kept=word == "faster"))


def test_a_number_that_helped_is_doubled_while_something_is_left() -> None:
    state = judged_trial(state_with(starved(2)), {"loader.num_workers": 2}, -2.7, "faster")
    move = next_move(state, KNOWN)
    assert isinstance(move, BeginMove)
    assert move.proposal.set == {"loader.num_workers": 4}
    assert move.proposal.bound == pytest.approx(1 / 0.7)


def test_a_number_that_was_too_much_is_halved() -> None:
    state = state_with(starved(8), in_force={"loader.num_workers": 2})
    state = judged_trial(state, {"loader.num_workers": 8}, -1.0, "slower")
    move = next_move(state, KNOWN)
    assert isinstance(move, BeginMove)
    assert move.proposal.set == {"loader.num_workers": 4}


def failing(label: str, *, with_others_gpus: bool = False) -> SearchState:
    """Return a search whose first trial failed in a launch of that label."""
    state = state_with(starved(8), in_force={"loader.num_workers": 2})
    proposal = Proposal(set={"loader.num_workers": 8}, code="input.workers", bound=5.0, expected=3.0)
    state = advance(state, Begun(comparison_id="c", purpose="trial", proposal=proposal))
    gpus = {"gpu_uuids": ["other"]} if with_others_gpus else {}
    for each in ("B", "A") if label == "A" else ("B",):
        change = {**state.best, **proposal.set} if each == "B" else dict(state.best)
        made = launch(each, change, -2.0, **gpus)
        if each == label and not with_others_gpus:
            made = msgspec.structs.replace(made, log_step_s=None, outcome="failed", note="boom")
        seen = measured(made, starved(8), in_force={"loader.num_workers": 2})
        state = advance(state, seen)
    assert state.open is not None
    verdict = judge(state.open.launches, NOISE, 8.0)
    assert verdict.verdict == "failed"
    return advance(state, Judged(verdict=verdict, kept=False))


def first_number(state: SearchState) -> object:
    return next(
        (each.set["loader.num_workers"] for each in propose(state, 1.02, 8.0).worthwhile if each.set), None
    )


def test_a_launch_with_the_change_that_failed_is_counted_against_it() -> None:
    state = failing("B")
    assert first_number(state) == 4
    assert first_number(advance(state, sitting(unix=20.0))) == 4


@pytest.mark.parametrize("with_others_gpus", [False, True])
def test_a_comparison_that_failed_for_another_reason_says_nothing_of_the_change(
    with_others_gpus: bool,
) -> None:
    state = failing("A", with_others_gpus=with_others_gpus)
    assert first_number(state) is None  # neither the half, nor the same again at once
    assert first_number(advance(state, sitting(unix=20.0))) == 8
    ended = end_sentence(state, "nothing_left", Choice((), ()))
    assert ended.startswith("Nothing was decided: what was tried could not be compared")
    assert ended.endswith("--resume measures again what could not be compared.")


def test_a_final_that_comes_out_slower_brings_the_original_back() -> None:
    state = judged_trial(state_with(starved(2)), {"loader.num_workers": 2}, -2.7, "faster")
    proposal = Proposal(set=state.changed, code=FINAL_CODE)
    state = advance(state, Begun(comparison_id="f", purpose="final", proposal=proposal))
    assert state.open is not None
    assert (state.open.before, state.open.measured) == ({}, ())
    state = advance(state, Judged(verdict=Verdict(verdict="slower", sentence="s"), kept=False))
    assert (state.best, state.changed) == ({}, {})


def test_a_final_that_was_too_noisy_is_made_again_in_another_sitting_only() -> None:
    state = judged_trial(state_with(starved(2)), {"loader.num_workers": 2}, -2.7, "faster")
    proposal = Proposal(set=state.changed, code=FINAL_CODE)
    state = advance(state, Begun(comparison_id="f", purpose="final", proposal=proposal))
    state = advance(state, Judged(verdict=Verdict(verdict="too_noisy", sentence="s"), kept=False))
    assert state.final is not None
    assert state.changed == {"loader.num_workers": 2}
    assert advance(state, sitting(unix=1e6)).final is None


def test_two_refused_comparisons_end_a_sitting_and_another_one_measures_them_again() -> None:
    other = Finding(
        code="pause.gc",
        severity="warning",
        share=0.3,
        sentence="x",
        remedy=Remedy(set={"gc.freeze": True}, bound=1.5),
    )
    state = state_with(starved(), other)
    for change in ({"loader.num_workers": 4}, {"gc.freeze": True}):
        proposal = Proposal(set=dict(change), code="x")
        state = advance(state, Begun(comparison_id="c", purpose="trial", proposal=proposal))
        state = advance(state, Judged(verdict=Verdict(verdict="too_noisy", sentence="s"), kept=False))
    stop = next_move(state, KNOWN)
    assert isinstance(stop, StopMove)
    assert stop.reason == "too_noisy"
    move = next_move(advance(state, sitting(unix=10_000.0)), KNOWN)
    assert isinstance(move, BeginMove)
    assert move.proposal.set == {"loader.num_workers": 4}


OTHER_PROGRAMS: list[dict[str, object]] = [
    {"code": "edited"},
    {"commit": "new"},
    {"versions": {"torch": "3"}},
    {"devices": "CUDA_VISIBLE_DEVICES=1"},
]


def test_a_comparison_that_was_broken_off_goes_on_soon_and_begins_anew_late() -> None:
    proposal = Proposal(set={"loader.num_workers": 4}, code="input.workers", bound=5.0, expected=3.0)
    entries: list[SearchEntry] = [
        sitting(),
        measured(launch(), starved()),
        Begun(comparison_id="c", purpose="trial", proposal=proposal),
    ]
    soon = fold(PLAN, [*entries, sitting(unix=60.0)])
    assert next_move(soon, KNOWN) == LaunchMove("B", {"loader.num_workers": 4})
    late = fold(PLAN, [*entries, sitting(unix=100_000.0)])
    assert next_move(late, KNOWN) == LaunchMove("A", {})
    restarted = msgspec.structs.replace(sitting(unix=60.0), boot_id="two")
    assert next_move(fold(PLAN, [*entries, restarted]), KNOWN) == LaunchMove("A", {})
    assert late.open is not None
    for other in OTHER_PROGRAMS:
        edited = fold(PLAN, [*entries, msgspec.structs.replace(sitting(unix=60.0), **other)])
        assert edited.last is None
        assert next_move(edited, KNOWN) == LaunchMove("A", {}), other
    assert late.open.comparison_id == "c"


def test_launches_that_suffice_are_judged_after_a_kill_without_another_one() -> None:
    proposal = Proposal(set={"loader.num_workers": 4}, code="input.workers", bound=5.0, expected=3.0)
    state = fold(
        PLAN,
        [
            sitting(),
            measured(launch(), starved()),
            Begun(comparison_id="c", purpose="trial", proposal=proposal),
            measured(launch("B", {"loader.num_workers": 4}, -3.0)),
            sitting(unix=60.0),
        ],
    )
    assert isinstance(next_move(state, KNOWN), JudgeMove)


CURVE: dict[int, float | None] = {step: 2.0 - step / 400 for step in range(10, 210, 10)}


def compared(semantics: Semantics, purpose: Purpose, losses: dict[int, float | None]) -> SearchState:
    """A faster change after A B."""
    change: Settings = {"precision.tf32": True}
    proposal = Proposal(set=change, code="compute.fp32", semantics=semantics, expected=1.5)
    entries: list[SearchEntry] = [
        sitting("numeric"),
        Begun(comparison_id="c", purpose=purpose, proposal=proposal),
        msgspec.structs.replace(measured(launch()), losses=losses),
        msgspec.structs.replace(measured(launch("B", change, -3.0)), losses=losses),
    ]
    return fold(PLAN, entries)


@pytest.mark.parametrize("purpose", ["trial", "final"])
def test_a_faster_numeric_change_takes_a_second_original_for_its_losses(purpose: Purpose) -> None:
    state = compared("numeric", purpose, CURVE)
    assert next_move(state, KNOWN) == LaunchMove("A", {})
    state = advance(state, msgspec.structs.replace(measured(launch()), losses=CURVE))
    assert isinstance(next_move(state, KNOWN), JudgeMove)


@pytest.mark.parametrize("purpose", ["trial", "final"])
@pytest.mark.parametrize(("semantics", "losses"), [("neutral", CURVE), ("numeric", {})])
def test_no_second_original_where_it_tells_nothing(
    purpose: Purpose, semantics: Semantics, losses: dict[int, float | None]
) -> None:
    assert isinstance(next_move(compared(semantics, purpose, losses), KNOWN), JudgeMove)
