"""Findings with their evidence and remedy, the leading one first."""

from perftui.ipc.findings import Evidence, Finding
from perftui.tui import format as fmt
from perftui.tui.renderables.headline import change_words, severity_mark
from perftui.tui.renderables.lines import BLANK, Line, Run, line, spread, wrap
from perftui.tui.state import DashboardState


def finding_lines(state: DashboardState, width: int) -> list[Line]:
    """Draw all findings below each other."""
    if not state.findings:
        said = "nothing found so far" if state.connected or state.ended else "no word from the hub"
        return [line(Run(said, "dim"))]
    drawn: list[Line] = []
    for number, finding in enumerate(state.findings):
        drawn += [*([BLANK] if number else []), *_finding(finding, state, width)]
    return drawn


def _finding(finding: Finding, state: DashboardState, width: int) -> list[Line]:
    mark, word, role = severity_mark(finding)
    where = f" rank {finding.rank}" if finding.rank is not None else ""
    head = spread(
        line(Run(f"{mark} {finding.code}", role), Run(where, "value"), Run(f"  {word.lower()}", "dim")),
        line(Run(fmt.percent(finding.share), "value"), Run(" of the step", "dim")),
        width,
    )
    body = [(Run("  "), *part) for part in wrap(fmt.clean(finding.sentence), width - 2)]
    return [head, *body, *_evidence(finding, width), *_remedy(finding, state, width)]


def _evidence(finding: Finding, width: int) -> list[Line]:
    words = " · ".join(_one(evidence) for evidence in finding.evidence)
    steps = max((evidence.window_steps for evidence in finding.evidence), default=0)
    over = f" (last {steps:,} steps)" if steps else ""
    partly = f"; measured on {fmt.percent(finding.coverage)} of them" if finding.coverage < 0.995 else ""
    return [(Run("  "), *part) for part in wrap(f"{words}{over}{partly}", width - 2, "dim")] if words else []


def _one(evidence: Evidence) -> str:
    return f"{fmt.clean(evidence.name)} {fmt.evidence_value(evidence.value, evidence.unit)}"


def _remedy(finding: Finding, state: DashboardState, width: int) -> list[Line]:
    remedy = finding.remedy
    drawn: list[Line] = []
    if remedy is not None and remedy.set:
        drawn += _hanging(change_words(remedy, state), width, "→", "fine")
    elif remedy is not None and remedy.advice:
        place = f" ({fmt.clean(remedy.at)})" if remedy.at else ""
        drawn += _hanging(f"{fmt.clean(remedy.advice)}{place}", width, "→", "fine")
    if remedy is not None and remedy.caution:
        drawn += _hanging(fmt.clean(remedy.caution), width, "!", "warning")
    if finding.unsure:
        drawn += _hanging(f"to settle it: {fmt.clean(finding.unsure)}", width, "○", "note")
    return drawn


def _hanging(text: str, width: int, mark: str, role: str) -> list[Line]:
    wrapped = wrap(text, width - 4)
    return [(Run(f"  {mark} " if index == 0 else "    ", role), *part) for index, part in enumerate(wrapped)]
