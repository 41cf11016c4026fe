"""What a change may gain is said to hold for a quiet host, while other work keeps the host busy."""

import json

import msgspec
import pytest

from perftui.ipc.findings import Finding, Remedy, Severity
from perftui.trainer.launch.plain_text import status_text
from perftui.tui.renderables.lines import plain
from perftui.tui.renderables.proposal_lines import proposal_lines
from perftui.tui.renderables.remedy_words import change_words
from perftui.tui.state import DashboardState
from tests.reporting.made_report import summary
from tests.tui import scenes

REMEDY = Remedy(set={"loader.num_workers": 2}, expected=2.3, bound=8.4)
LEAD = Finding(code="input.workers", severity="critical", share=0.7, sentence="It waits.", remedy=REMEDY)


def beside(severity: Severity | None) -> tuple[Finding, ...]:
    """The finding, and how much other work there is; None: hardly any."""
    if severity is None:
        return (LEAD,)
    return LEAD, Finding(code="self.contended", severity=severity, share=0.0, sentence="Other work.")


@pytest.mark.parametrize(("severity", "marked"), [(None, False), ("info", False), ("warning", True)])
def test_gains_are_marked_while_the_host_is_busy(severity: Severity | None, marked: bool) -> None:
    findings = beside(severity)
    state = DashboardState("demo-1", header=scenes.starved().header, findings=findings)
    document = json.loads(msgspec.json.encode(summary(findings=list(findings), message=None)))
    for told in (
        change_words(REMEDY, state),
        " ".join(plain(part) for part in proposal_lines(state, LEAD, REMEDY, 100)),
        " ".join(status_text(document)),
    ):
        assert "at most 8.4" in told
        assert ("if the host were quiet" in told) is marked
