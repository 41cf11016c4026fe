"""Whatever is measured, findings do not contradict one another and never cost more than the step."""

from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perftui.ipc.findings import Finding
from perftui.ipc.settings import format_value, parse_assignment
from perftui.trainer.diagnosis import POLICY, RunSignals, Steadied, judge
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.pacing import Pacer

from .any_signals import runs as _runs

_unhurried = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
_ORDER = {"critical": 0, "warning": 1, "info": 2}
_SAYS_SOMETHING = {"compute.operator", "compute.backward_ratio", "comm.exposed"}
"""Of what the model or the exchange costs: then there may be something to fix."""


def _check(findings: Sequence[Finding]) -> None:
    keys = [(finding.code, finding.rank, finding.host) for finding in findings]
    assert len(keys) == len(set(keys))
    costly = [f.code for f in findings if f.severity != "info" and not f.code.startswith("self.")]
    codes = {finding.code for finding in findings}
    assert not ("compute.bound" in codes and (costly or any(code.startswith("rank.") for code in codes)))
    assert all(0 <= finding.share <= 1 for finding in findings)


@_unhurried
@given(_runs)
def test_findings_agree(signals: RunSignals) -> None:
    findings = judge(signals).findings
    _check(findings)
    assert judge(signals).findings == findings
    severities = [_ORDER[finding.severity] for finding in findings]
    assert severities == sorted(severities)
    if "compute.bound" in {finding.code for finding in findings}:
        assert not _SAYS_SOMETHING & {finding.code for finding in findings}
    straggler = [finding for finding in findings if finding.code == "rank.straggler_input"]
    assert len(straggler) <= 1
    if straggler:
        starved = [f for f in findings if f.code.startswith("input.") and f.rank in (None, straggler[0].rank)]
        assert sum(finding.share for finding in [*straggler, *starved]) <= 1 + 1e-9
    for finding in findings:
        _check_cause(finding, findings)
        _check_remedy(finding)
        _check_path(finding, signals)


def _check_cause(finding: Finding, findings: Sequence[Finding]) -> None:
    """What follows from something stands below it, is no worse and offers nothing."""
    if finding.under is None:
        return
    causes = [each for each in findings if each.code == finding.under]
    assert causes
    assert finding.remedy is None
    assert min(_ORDER[each.severity] for each in causes) <= _ORDER[finding.severity]
    assert findings.index(causes[0]) < findings.index(finding)
    assert max(each.share for each in causes) > 0 or finding.share == 0


def _check_remedy(finding: Finding) -> None:
    remedy = finding.remedy
    if remedy is None:
        return
    for name, value in remedy.set.items():
        assert parse_assignment(f"{name}={format_value(value)}") == (name, value)
    if remedy.expected is not None and remedy.bound is not None:
        assert remedy.expected <= remedy.bound + 0.01


def _check_path(finding: Finding, signals: RunSignals) -> None:
    """Where workers pace every rank, nothing that would make the model or the GPU faster is offered."""
    case = Case(signals, POLICY)
    if not signals.ranks or not all(
        case.paces[r.rank].path == frozenset[Pacer](("loader",)) for r in signals.ranks
    ):
        return
    assert finding.code not in {
        "compute.optimizer",
        "compute.fp32",
        "compute.layout",
        "compute.small_batch",
        "compute.operator",
        "compute.backward_ratio",
        "launch.bound",
        "sync.each_step",
        "transfer.pageable",
        "transfer.many_small",
        "cpu.python",
        "gpu.throttled",
        "gpu.power_capped",
    }


@_unhurried
@given(st.lists(_runs, max_size=6))
def test_what_is_shown_agrees_too(windows: list[RunSignals]) -> None:
    steadied = Steadied()
    for second, signals in enumerate(windows):
        _check(steadied.update(list(judge(signals).findings), float(second)))
