"""Findings on the screen come and go without haste, and never contradict one another."""

import msgspec.structs

from perftui.ipc.findings import Finding, Severity
from perftui.trainer.diagnosis import Policy, Steadied

_POLICY = Policy(appear_judgements=2, vanish_judgements=3, forget_after_s=60.0)


def _finding(
    code: str, *, rank: int | None = None, severity: Severity = "warning", share: float = 0.3
) -> Finding:
    return Finding(code=code, severity=severity, share=share, sentence=code, rank=rank)


_INPUT = _finding("input.workers")
_HEALTHY = _finding("compute.bound", severity="info")
_BUSY = _finding("self.contended")


def _shown(judgements: list[list[Finding]], every_s: float = 1.0) -> list[list[str]]:
    steadied = Steadied(_POLICY)
    return [
        [finding.code for finding in steadied.update(findings, second * every_s)]
        for second, findings in enumerate(judgements)
    ]


def test_a_finding_appears_when_it_has_held_and_stays_while_it_flickers() -> None:
    judgements = [[_INPUT], [_INPUT], [], [], [_INPUT], [], [], []]
    code = ["input.workers"]
    assert _shown(judgements) == [[], code, code, code, code, code, code, []]


def test_a_finding_that_flickers_from_the_start_never_appears() -> None:
    assert _shown([[_INPUT], [], [_INPUT], []]) == [[], [], [], []]


def test_the_latest_figures_are_shown() -> None:
    steadied = Steadied(_POLICY)
    steadied.update([_finding("input.workers", share=0.30)], 0.0)
    steadied.update([_finding("input.workers", share=0.31)], 1.0)
    shown = steadied.update([_finding("input.workers", share=0.32)], 2.0)
    assert [finding.share for finding in shown] == [0.32]


def test_severity_changes_only_when_it_has_held() -> None:
    steadied = Steadied(_POLICY)
    severities: list[Severity] = [
        "warning",
        "warning",
        "critical",
        "warning",
        "critical",
        "critical",
        "critical",
    ]
    shown = [
        [
            finding.severity
            for finding in steadied.update([_finding("input.workers", severity=severity)], float(at))
        ]
        for at, severity in enumerate(severities)
    ]
    assert shown == [[], ["warning"], ["warning"], ["warning"], ["warning"], ["critical"], ["critical"]]


def test_order_changes_only_when_it_has_held() -> None:
    first, second = [_INPUT, _BUSY], [_BUSY, _INPUT]
    shown = _shown([first, first, second, first, second, second])
    codes = ["input.workers", "self.contended"]
    assert shown == [[], codes, codes, codes, codes, codes[::-1]]


def test_healthy_waits_until_a_lingering_cause_has_gone() -> None:
    shown = _shown([[_INPUT], [_INPUT], [_HEALTHY], [_HEALTHY], [_HEALTHY]])
    assert shown == [[], ["input.workers"], ["input.workers"], ["input.workers"], ["compute.bound"]]


def test_a_cause_that_appears_ends_healthy_at_once() -> None:
    shown = _shown([[_HEALTHY], [_HEALTHY], [_INPUT], [_INPUT], []])
    assert shown == [[], ["compute.bound"], ["compute.bound"], ["input.workers"], ["input.workers"]]


def test_any_cause_that_lingers_keeps_healthy_back() -> None:
    python = _finding("cpu.python")
    shown = _shown([[python], [python], [_HEALTHY], [_HEALTHY], [_HEALTHY]])
    assert shown == [[], ["cpu.python"], ["cpu.python"], ["cpu.python"], ["compute.bound"]]


def test_a_consequence_hangs_under_what_is_shown_alone() -> None:
    cause = _finding("cpu.quota")
    under = msgspec.structs.replace(_INPUT, under="cpu.quota")
    steadied = Steadied(_POLICY)
    steadied.update([under], 0.0)
    assert [f.under for f in steadied.update([under], 1.0)] == [None]
    steadied.update([cause, under], 2.0)
    assert [(f.code, f.under) for f in steadied.update([cause, under], 3.0)] == [
        ("cpu.quota", None),
        ("input.workers", "cpu.quota"),
    ]


def test_the_same_cause_on_another_rank_takes_the_place_of_one_that_lingers() -> None:
    first, second = _finding("rank.straggler_input", rank=0), _finding("rank.straggler_input", rank=1)
    steadied = Steadied(_POLICY)
    shown = [
        [finding.rank for finding in steadied.update([finding], float(second_))]
        for second_, finding in enumerate([first, first, second, second])
    ]
    assert shown == [[], [0], [0], [1]]


def test_one_moment_is_judged_once() -> None:
    steadied = Steadied(_POLICY)
    assert steadied.update([_INPUT], 1.0) == []
    assert steadied.update([_INPUT], 1.0) == []
    assert steadied.update([_INPUT], 0.5) == []
    assert [finding.code for finding in steadied.update([_INPUT], 2.0)] == ["input.workers"]


def test_what_was_shown_before_a_long_silence_is_forgotten() -> None:
    steadied = Steadied(_POLICY)
    steadied.update([_INPUT], 0.0)
    assert steadied.update([_INPUT], 1.0) != []
    assert steadied.update([], 100.0) == []
