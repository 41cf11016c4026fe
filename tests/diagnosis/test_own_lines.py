"""What the script's own lines take: by how long parts of the step take, not by how often looks find them."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import StackFacts, StackPlace
from perftui.ipc.trace_report import OperatorFigures, RankReport
from perftui.ipc.view import Shares
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.diagnosis.own_lines import own_lines, own_place
from perftui.trainer.diagnosis.signals import PauseSignals, RankSignals, StepPatterns

from .made import (
    BUSY,
    QUIET,
    change,
    facts,
    found,
    gpu,
    gpu_rank,
    lead,
    loader,
    of_parts,
    rank,
    run,
    shares,
    stacks,
)

_SCORES = StackPlace(area="script", at="train.py:21 distance", line="row[b] = min(row[b], before)", count=10)
_AUGMENT = StackPlace(area="script", at="train.py:20 augment", line="np.roll(picture, 1)", count=40)
_LOADERLESS = StepPatterns(run_steps=200, wait_known=False)


def test_python_that_looks_seldom_find_counts_with_the_time_it_takes() -> None:
    seen = stacks(91, _SCORES, collate=46, model=10, script=19, backward=16)
    finding = lead(run(of_parts(seen, wait=0.06, other=0.7, optimizer=0.01, forward=0.11)))
    assert (finding.code, finding.severity) == ("cpu.python", "critical")
    assert finding.share == pytest.approx(0.7)
    assert finding.remedy is not None
    assert finding.remedy.at == "train.py:21 distance"


@pytest.mark.parametrize(("looks", "seen"), [(POLICY.own_looks - 1, False), (POLICY.own_looks, True)])
def test_time_that_no_look_explains_is_not_blamed_on_python(looks: int, seen: bool) -> None:
    judgement = judge(run(of_parts(stacks(100, script=looks, model=20, backward=75), other=0.5, forward=0.2)))
    codes = [finding.code for finding in judgement.findings]
    assert ("cpu.python" in codes) is seen
    assert ("cpu.python" in [each.code for each in judgement.abstained]) is not seen


@pytest.mark.parametrize(("other", "seen"), [(0.24, False), (0.26, True)])
def test_python_after_the_step_at_its_threshold(other: float, seen: bool) -> None:
    seen_at = stacks(100, _SCORES, script=40, model=10, backward=50)
    made = of_parts(seen_at, other=other, forward=0.1)
    assert ("cpu.python" in found(run(made))) is seen


@pytest.mark.parametrize(("area", "seen"), [("model", False), ("optimizer", False), ("backward", True)])
def test_what_torch_does_besides_is_no_python(area: str, seen: bool) -> None:
    """A teacher's forward, or clipping of gradients, lies outside of what is measured and is no Python."""
    looks = {"model": 15, "optimizer": 7, "backward": 28, area: 60}
    made = of_parts(stacks(130, _SCORES, script=10, **looks), other=0.4, forward=0.15)
    assert ("cpu.python" in found(run(made))) is seen


def test_collections_and_checkpoints_are_no_python_of_the_scripts_own() -> None:
    collecting = of_parts(stacks(30, script=30), other=0.78, forward=0.05)
    collecting = replace(collecting, facts=facts(stacks=stacks(60, script=60)), change=change(gc_ms=44_000.0))
    assert [f.code for f in judge(run(collecting)).findings] == ["pause.gc"]
    saving = PauseSignals(kind="checkpoint", count=9, total_ms=5.0, longest_ms=1.0, share=0.6)
    saved = replace(collecting, change=None, pauses=(saving,))
    assert "cpu.python" not in found(run(saved))


# --- input.inline beside a loader ---


def test_batches_that_are_prepared_after_the_loader_has_delivered() -> None:
    seen = stacks(75, _AUGMENT, script=58, model=5, backward=7, collate=5)
    made = replace(of_parts(seen, wait=0.03, other=0.006, optimizer=0.01, forward=0.877))
    finding = lead(run(made))
    assert (finding.code, finding.severity) == ("input.inline", "critical")
    assert finding.share == pytest.approx(0.877 * 58 / 63, abs=0.01)
    assert "after the loader has delivered" in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.at == "train.py:20 augment"


def test_a_forward_that_is_long_by_itself_is_no_preparation() -> None:
    made = of_parts(stacks(100, script=3, model=80, backward=17), wait=0.05, other=0.01, forward=0.76)
    assert "input.inline" not in found(run(made))


@pytest.mark.parametrize(("step_ms", "seen"), [(3.9, False), (4.1, True)])
def test_preparation_shorter_than_a_handover_is_not_moved_to_workers(step_ms: float, seen: bool) -> None:
    made = of_parts(stacks(100, _AUGMENT, script=50, model=20), wait=0.02, other=0.0, forward=0.7)
    made = replace(made, step_ms=msgspec.structs.replace(made.step_ms, mean=step_ms))
    cost = own_lines(made, POLICY)
    assert cost is not None
    assert cost.before == pytest.approx(0.5)
    assert ("input.inline" in found(run(made))) is seen


def test_a_loader_that_is_waited_for_hides_what_comes_before_the_backward() -> None:
    made = of_parts(stacks(100, _AUGMENT, script=50, model=20), wait=0.3, other=0.0, forward=0.6)
    assert made.loader is not None
    fed = replace(made, loader=msgspec.structs.replace(made.loader, num_workers=2), cpu_share=0.7)
    assert "input.inline" in found(run(made))
    assert "input.inline" not in found(run(fed))


# --- before the model's call, or past it ---

_ASSIGN = StackPlace(area="script", at="train.py:35 assign", line="if least[j] < delta:", count=40)


def _matching(script: int = 60, model: int = 20, forward: float = 0.6, **order: int) -> RankSignals:
    """A loop whose forward part holds Python of the script's own, with looks by the order of lines."""
    seen = stacks(100, _ASSIGN, script=script, model=model, backward=100 - script - model)
    made = of_parts(msgspec.structs.replace(seen, order=order), wait=0.02, other=0.01, forward=forward)
    return replace(made, step_ms=rank(step_ms=34.0).step_ms)


def test_python_past_the_models_call_is_no_preparation() -> None:
    finding = lead(run(_matching(after=58, before=2)))
    assert (finding.code, finding.severity) == ("cpu.python", "critical")
    assert finding.share == pytest.approx(0.45 * 58 / 60, abs=0.01)
    assert "past the model's call, mostly at train.py:35 assign" in finding.sentence
    assert finding.remedy is not None
    assert "library in C" in (finding.remedy.advice or "")
    assert "dataset" not in (finding.remedy.advice or "")
    assert "input.inline" not in found(run(_matching(after=58, before=2)))


def test_python_before_the_models_call_is_preparation() -> None:
    codes = found(run(_matching(before=58, after=2)))
    assert "cpu.python" not in codes
    advice = codes["input.inline"].remedy
    assert advice is not None
    assert "into the Dataset" in (advice.advice or "")
    assert "outputs" not in (advice.advice or "")


@pytest.mark.parametrize("order", [{}, {"after": POLICY.own_looks - 1}], ids=["not told", "too few looks"])
def test_where_the_order_is_not_known_the_advice_is_for_both(order: dict[str, int]) -> None:
    finding = lead(run(_matching(**order)))
    assert finding.code == "input.inline"
    assert finding.remedy is not None
    assert "into the Dataset" in (finding.remedy.advice or "")
    assert "what needs the model's outputs: in tensor operations" in (finding.remedy.advice or "")


def test_looks_whose_order_is_not_known_count_as_preparation() -> None:
    made = own_lines(_matching(after=10, before=10), POLICY)
    assert made is not None
    assert made.between == pytest.approx((made.before + made.between) * 10 / 60)


@pytest.mark.parametrize(("forward", "seen"), [(0.34, True), (0.32, False)])
def test_python_past_the_models_call_at_its_threshold(forward: float, seen: bool) -> None:
    """Three quarters of what the forward seems to take: 0.255 and 0.24 of the step."""
    made = _matching(after=60, forward=forward)
    assert ("cpu.python" in found(run(made))) is seen


def test_python_past_the_models_call_shorter_than_the_loop_itself() -> None:
    short = replace(_matching(after=60), step_ms=rank(step_ms=0.8).step_ms)
    assert found(run(short)).keys().isdisjoint({"cpu.python", "input.inline"})


def test_workers_that_are_waited_for_hide_what_comes_past_the_models_call() -> None:
    made = _matching(after=60)
    starved = replace(made, shares=shares(wait=0.3, other=0.01, forward=0.5), loader=loader(num_workers=2))
    assert "cpu.python" not in found(run(starved))


@pytest.mark.parametrize(("engine", "seen"), [(0.3, True), (0.95, False)])
def test_past_the_models_call_on_a_gpu(engine: float, seen: bool) -> None:
    """A busy GPU is what the host waits for there."""
    made = replace(_matching(after=60), device="cuda:0", gpu_uuid="GPU-1")
    readings = (gpu(graphics_share=engine, sm_active_share=engine / 2),)
    assert ("cpu.python" in found(run(made, gpus=readings))) is seen


@pytest.mark.parametrize(
    ("order", "code"),
    [
        ({"before": 60}, "input.inline"),
        ({"after": 60}, "cpu.python"),
        ({"behind": 60}, "cpu.python"),
        ({}, "input.inline"),
    ],
)
def test_the_order_of_lines_without_a_loader(order: dict[str, int], code: str) -> None:
    parts = Shares(loader_wait=None, forward=None, backward=0.2, optimizer=0.04, other=0.76)
    looks = msgspec.structs.replace(stacks(100, _ASSIGN, script=60, model=20, backward=20), order=order)
    made = rank(shares=parts, patterns=_LOADERLESS, loader=None, facts=facts(stacks=looks))
    codes = {"input.inline", "cpu.python"} & set(found(run(made)))
    assert codes == {code}


def _found_at(*lines: tuple[str, str, int]) -> StackFacts:
    places = [StackPlace(area=area, at=at, line=None, count=count) for area, at, count in lines]
    return stacks(200, *places, script=74, backward=60)


@pytest.mark.parametrize(("in_assign", "at"), [(19, "train.py:35 assign"), (18, "train.py:64 main")])
def test_looks_behind_plain_python_do_not_name_the_line_they_fall_on(in_assign: int, at: str) -> None:
    """A quarter of 74 looks found a function that the loop calls, more the loop's next call of torch."""
    backward = ("backward", "train.py:68 main", 60)
    apart = ("script", "train.py:35 assign", in_assign - 8), ("script", "train.py:41 assign", 8)
    loop = ("script", "train.py:64 main", 30)
    place = own_place(_found_at(backward, loop, *apart), 0.25, "script")
    assert place is not None
    assert place.at == at


def test_a_line_with_few_looks_is_not_named() -> None:
    assert own_place(_found_at(("script", "train.py:64 main", 18)), 0.25, "script") is None
    assert own_place(None, 0.25, "script") is None


# --- without a loader ---


@pytest.mark.parametrize(
    ("script", "seen"),
    [(11, False), (13, True)],  # of the looks in the model and in the script: under and over a fifth
)
def test_plain_python_before_a_short_backward_is_preparation(script: int, seen: bool) -> None:
    parts = Shares(loader_wait=None, forward=None, backward=0.2, optimizer=0.04, other=0.76)
    looks = stacks(100, script=script, model=50, backward=100 - 50 - script)
    made = rank(step_ms=10.0, shares=parts, patterns=_LOADERLESS, loader=None, facts=facts(stacks=looks))
    assert ("input.inline" in found(run(made))) is seen


def test_a_pipeline_that_is_waited_for_is_no_work() -> None:
    place = StackPlace(area="script", at="train.py:9 main", line="batch = next(pipeline)", count=60)
    parts = Shares(loader_wait=None, forward=None, backward=0.2, optimizer=0.04, other=0.76)
    looks = facts(stacks=stacks(100, place, script=60, model=20, backward=20))
    made = rank(shares=parts, patterns=_LOADERLESS, loader=None, facts=looks, cpu_share=0.4)
    assert lead(run(made)).sentence.startswith("The training thread waits 57 % of each step in lines")
    busy = replace(made, cpu_share=0.97)
    assert "on work of its own before the backward" in lead(run(busy)).sentence


def test_steps_of_a_millisecond_without_a_loader_are_healthy() -> None:
    parts = Shares(loader_wait=None, forward=None, backward=0.34, optimizer=0.08, other=0.58)
    looks = stacks(88, script=21, logging=1, model=28, optimizer=10, backward=28)
    made = rank(
        step_ms=0.95,
        shares=parts,
        patterns=_LOADERLESS,
        loader=None,
        facts=facts(stacks=looks),
        hook_share=0.02,
    )
    assert [f.code for f in judge(run(made)).findings] == ["compute.bound", "self.overhead"]


# --- behind a thread that reads ahead ---


def _behind_a_thread(count: int = 0, cpu: float = 0.4, **loaded: object) -> RankSignals:
    place = StackPlace(area="script", at="train.py:48 Ahead.__iter__", line="batch = ready.get()", count=60)
    parts = Shares(loader_wait=None, forward=None, backward=0.2, optimizer=0.04, other=0.76)
    looks = facts(stacks=stacks(100, place, script=60, model=20, backward=20))
    ahead = loader(num_workers=count, **loaded)
    made = rank(shares=parts, patterns=_LOADERLESS, loader=None, facts=looks, cpu_share=cpu)
    return replace(made, read_ahead=ahead)


def test_a_loader_that_a_thread_reads_ahead_has_too_few_workers() -> None:
    finding = lead(run(_behind_a_thread()))
    assert (finding.code, finding.severity) == ("input.workers", "critical")
    assert finding.share == pytest.approx(0.57)
    assert "at train.py:48 Ahead.__iter__" in finding.sentence
    assert "without workers" in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.set == {"loader.num_workers": 2}
    assert finding.remedy.bound == pytest.approx(1 / 0.43, abs=0.01)
    assert "input.inline" not in found(run(_behind_a_thread()))


def test_more_workers_behind_a_thread_only_while_there_are_cores_for_them() -> None:
    full = replace(QUIET, cpus=2.0, cores=2.0, online=2, run_busy=2.0)
    finding = lead(run(_behind_a_thread(2), host=full))
    assert "whose 2 workers prepare them more slowly" in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.set == {}
    assert "cheaper" in (finding.remedy.advice or "")


@pytest.mark.parametrize(("sharded", "offered"), [(None, False), (False, False), (True, True)])
def test_a_stream_behind_a_thread_gets_workers_only_where_it_divides_itself(
    sharded: bool | None, offered: bool
) -> None:
    finding = lead(run(_behind_a_thread(iterable=True, sharded=sharded)))
    assert finding.remedy is not None
    assert bool(finding.remedy.set) is offered


@pytest.mark.parametrize(
    ("line", "code"), [("x = ready.get()", "input.workers"), ("x = f(y)", "input.inline")]
)
def test_on_a_busy_host_the_line_must_say_that_it_waits(line: str, code: str) -> None:
    made = _behind_a_thread()
    place = StackPlace(area="script", at="train.py:48 Ahead.__iter__", line=line, count=60)
    looks = facts(stacks=stacks(100, place, script=60, model=20, backward=20))
    assert code in found(run(replace(made, facts=looks), host=BUSY))


def test_a_thread_that_works_itself_does_not_wait_for_another() -> None:
    assert lead(run(_behind_a_thread(cpu=0.97))).code == "input.inline"
    assert lead(run(replace(_behind_a_thread(), read_ahead=None))).code == "input.inline"


# --- on a GPU ---


@pytest.mark.parametrize(
    ("line", "engine", "code"),
    [
        ("picture = np.roll(picture, 1)", 0.3, "input.inline"),
        ("picture = np.roll(picture, 1)", 0.95, None),
        ("images = images.to(device)", 0.3, None),
        ("total += loss.item()", 0.3, None),
    ],
)
def test_on_a_gpu_lines_that_may_wait_for_it_are_not_blamed(
    line: str, engine: float, code: str | None
) -> None:
    place = StackPlace(area="script", at="train.py:20 augment", line=line, count=60)
    made = gpu_rank(
        shares=shares(wait=0.02, other=0.02, optimizer=0.05, forward=0.7),
        facts=facts(stacks=stacks(100, place, script=60, model=20, backward=20)),
    )
    codes = found(run(made, gpus=(gpu(graphics_share=engine, sm_active_share=engine / 2),)))
    assert ("input.inline" in codes) is (code is not None)
    assert "cpu.python" not in codes


def test_printing_a_loss_waits_for_the_gpu_and_is_no_logging() -> None:
    place = StackPlace(area="logging", at="train.py:32 main", line='print(f"{loss.item():.3f}")', count=60)
    made = gpu_rank(
        shares=shares(wait=0.02, other=0.7, optimizer=0.05, forward=0.1),
        facts=facts(stacks=stacks(100, place, logging=60, model=40)),
    )
    assert "pause.logging" not in found(run(made, gpus=(gpu(graphics_share=0.5),)))


def test_what_nobody_looked_at_is_not_known() -> None:
    assert own_lines(rank(), POLICY) is None
    few = rank(facts=facts(stacks=stacks(POLICY.stack_looks - 1, script=30)))
    assert own_lines(few, POLICY) is None
    unmeasured = msgspec.structs.replace(shares(), other=None)
    assert own_lines(rank(shares=unmeasured, facts=facts(stacks=stacks(100, script=30))), POLICY) is None


@pytest.mark.parametrize(
    ("operators", "seen"), [(0.34, True), (0.36, False)], ids=["Python", "torch may explain it"]
)
def test_python_that_no_look_finds_is_told_by_what_operators_leave(operators: float, seen: bool) -> None:
    busy = OperatorFigures(
        name="aten::mul", count=9, total_us=1e5 * operators, self_us=1e5 * operators, device_us=None,
        self_device_us=None, share=0.9, host_per_device=None,
    )  # fmt: skip
    window = RankReport(rank=0, path="trace.json", window_ms=100.0, operators=[busy])
    looked = of_parts(stacks(100, collate=60, model=30, backward=10), other=0.6, forward=0.2)
    judgement = judge(run(replace(looked, report=window)))
    assert ("cpu.python" in [each.code for each in judgement.findings]) is seen
    assert ("cpu.python" in [each.code for each in judgement.abstained]) is not seen
    ranks = [replace(looked, rank=n, report=window, world_size=2) for n in range(2)]
    assert "cpu.python" not in found(run(*ranks))
