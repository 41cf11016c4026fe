"""Checkpoints that another thread writes: they cost the time for which the training waits for them."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import StackFacts, StackPlace
from perftui.ipc.messages import BLANK, RankEvent
from perftui.ipc.view import Shares
from perftui.trainer.diagnosis import POLICY, judge
from perftui.trainer.diagnosis.own_lines import own_lines
from perftui.trainer.diagnosis.signals import ASIDE, PauseSignals, RankSignals
from perftui.trainer.hub.pause_log import PauseLog

from .made import facts, found, lead, rank, run, stacks

_WAITS = StackPlace(area="script", at="train.py:35 step", line="self.pending.result()", count=96)


def _pause(share: float, kind: str = ASIDE, count: int = 82) -> PauseSignals:
    return PauseSignals(kind=kind, count=count, total_ms=95.0 * count, longest_ms=120.0, share=share)


def _looked(saving: int = 96, script: int = 126, of: int = 180) -> StackFacts:
    made = stacks(of, _WAITS, script=script, backward=33, model=of - script - 33)
    return msgspec.structs.replace(made, saving=saving, order={"behind": script})


def _waiting(seen: StackFacts, *pauses: PauseSignals, other: float = 0.845) -> RankSignals:
    """A training without a loader that idles for most of its step."""
    made = rank(step_ms=84.0, loader=None, facts=facts(stacks=seen), pauses=pauses, cpu_share=0.3)
    split = Shares(loader_wait=None, forward=None, backward=0.97 - other, optimizer=0.03, other=other)
    return replace(made, shares=split, patterns=replace(made.patterns, wait_known=False))


def test_the_wait_for_a_thread_that_saves_hangs_under_the_checkpoint() -> None:
    findings = judge(run(_waiting(_looked(), _pause(0.38)))).findings
    first = findings[0]
    assert (first.code, first.severity) == ("pause.checkpoint", "critical")
    assert first.share == pytest.approx(96 / 180)
    assert "the training thread waits for it, mostly at train.py:35 step." in first.sentence
    assert first.remedy is not None
    assert "async_save" not in (first.remedy.advice or ""), "it is in the background already"
    below = next(each for each in findings if each.code == "cpu.python")
    assert (below.under, below.remedy) == ("pause.checkpoint", None)


@pytest.mark.parametrize(("saving", "hangs"), [(62, False), (63, True)])
def test_other_lines_of_the_scripts_own_stand_for_themselves(saving: int, hangs: bool) -> None:
    """Of 126 looks in such lines; at the threshold."""
    assert saving / 126 >= POLICY.saving_explains if hangs else saving / 126 < POLICY.saving_explains
    beside = found(run(_waiting(_looked(saving), _pause(0.38))))
    assert (beside["cpu.python"].under == "pause.checkpoint") is hangs
    assert (beside["cpu.python"].remedy is None) is hangs


@pytest.mark.parametrize(("saving", "seen"), [(POLICY.own_looks - 1, False), (POLICY.own_looks, True)])
def test_a_save_in_the_background_that_nobody_waits_for_costs_nothing(saving: int, seen: bool) -> None:
    made = _waiting(_looked(saving, 10, POLICY.stack_looks), _pause(0.6))
    assert ("pause.checkpoint" in found(run(made))) is seen
    few = replace(made, facts=facts(stacks=_looked(saving, 5, POLICY.stack_looks - 1)))
    assert "pause.checkpoint" not in found(run(few))
    unsaid = replace(made, facts=facts())
    assert "pause.checkpoint" not in found(run(unsaid))


def test_what_the_training_thread_saves_itself_is_added() -> None:
    made = _waiting(_looked(), _pause(0.38), _pause(0.1, "checkpoint", 8))
    finding = found(run(made))["pause.checkpoint"]
    assert finding.share == pytest.approx(0.1 + 96 / 180)
    own = _waiting(_looked(0, 10), _pause(0.19, "checkpoint", 8))
    finding = found(run(own))["pause.checkpoint"]
    assert (finding.share, finding.severity) == (0.19, "warning")
    assert "8 of them, 95 ms each" in finding.sentence


def test_it_takes_no_more_than_what_is_neither_loader_nor_model() -> None:
    finding = found(run(_waiting(_looked(), _pause(0.38), other=0.4)))["pause.checkpoint"]
    assert finding.share == 0.4


def test_a_save_beside_the_training_explains_no_time_of_its_thread() -> None:
    seen = _looked(0, 60, 100)
    beside, own = _waiting(seen, _pause(0.3)), _waiting(seen, _pause(0.3, "checkpoint"))
    lines, less = own_lines(beside, POLICY), own_lines(own, POLICY)
    assert lines is not None
    assert less is not None
    assert lines.between > less.between
    assert lead(run(beside)).code == "cpu.python"


def test_events_tell_who_wrote_a_checkpoint() -> None:
    log = PauseLog()
    for number, aside in enumerate((False, True, True)):
        event = RankEvent(
            **BLANK, at_ns=number, event="checkpoint", text="a.pt", duration_ns=100 + number, aside=aside
        )
        log.add(event)
    for seen in (log.whole(0, 1000), log.between(0, 1000)):
        assert {each.kind: (each.count, each.longest_ms) for each in seen} == {
            "checkpoint": (1, 100 / 1e6),
            ASIDE: (2, 102 / 1e6),
        }
