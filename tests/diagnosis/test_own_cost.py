"""`self.overhead`: our own cost is told where it was measured on a quiet host, and nowhere else."""

import pytest

from perftui.trainer.diagnosis import POLICY, judge

from .made import BUSY, abstained, found, rank, run

_INFO, _WARNING = POLICY.overhead_info, POLICY.overhead_warning


@pytest.mark.parametrize(
    ("share", "severity"),
    [(None, None), (0.9 * _INFO, None), (_INFO, "info"), (0.99 * _WARNING, "info"), (_WARNING, "warning")],
)
def test_what_the_hooks_take_of_a_step(share: float | None, severity: str | None) -> None:
    finding = found(run(rank(hook_share=share))).get("self.overhead")
    assert (finding.severity if finding else None) == severity


def test_the_sentence_has_the_step_it_speaks_of() -> None:
    finding = found(run(rank(step_ms=0.5, hook_share=0.04)))["self.overhead"]
    assert finding.sentence == "perftui's own hooks take 4 % of a step of 0.5 ms."


def test_a_busy_host_lets_the_clock_in_the_hooks_run_on() -> None:
    signals = run(rank(hook_share=0.04), host=BUSY)
    assert "self.overhead" not in found(signals)
    assert "self.overhead" in abstained(judge(signals))
