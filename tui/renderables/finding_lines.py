"""Findings with their evidence and remedy, the leading one first."""

from perftui.ipc.figures import counted
from perftui.ipc.findings import Finding, nested
from perftui.tui import format as fmt
from perftui.tui.renderables.finding_words import evidence_words, first_seen
from perftui.tui.renderables.headline import severity_mark
from perftui.tui.renderables.lines import BLANK, Line, Run, line, spread, wrap
from perftui.tui.renderables.remedy_words import by_hand, change_words, offered, places, settled_by
from perftui.tui.state import DashboardState

_INDENT = 4
"""Of what hangs under a cause."""


def finding_lines(state: DashboardState, width: int) -> list[Line]:
    """Draw all findings below each other."""
    if not state.findings:
        said = "nothing found so far" if state.connected or state.ended else "no word from the hub"
        return [line(Run(said, "dim"))]
    drawn: list[Line] = []
    for number, (depth, finding) in enumerate(nested(state.findings)):
        indent = _INDENT * depth
        body = _finding(finding, state, width - indent, follows=depth > 0)
        drawn += [BLANK] if number and not depth else []
        drawn += [(Run(" " * indent), *part) for part in body] if depth else body
    return drawn


def finding_heights(state: DashboardState, width: int) -> tuple[int, int]:
    """Return how many lines the leading finding takes, and how many all take."""
    lead = len(_finding(state.findings[0], state, width)) if state.findings else 1
    return lead, len(finding_lines(state, width))


def _finding(finding: Finding, state: DashboardState, width: int, *, follows: bool = False) -> list[Line]:
    """Draw one: what it is, what can be done about it, what it is known from, and what speaks against it."""
    mark, word, role = severity_mark(finding)
    bough = Run("└ " if follows else "", "dim")
    where = f" rank {finding.rank}" if finding.rank is not None else ""
    share = line(Run(fmt.percent(finding.share), "value"), Run(f" of the {finding.share_of}", "dim"))
    head = spread(
        line(
            bough,
            Run(f"{mark} {fmt.clean(finding.code)}", role),
            Run(where, "value"),
            Run(f"  {word.lower()}", "dim"),
        ),
        share if finding.share > 0 else BLANK,
        width,
    )
    body = [(Run("  "), *part) for part in wrap(fmt.clean(finding.sentence), width - 2)]
    doubts = _doubts(finding, state, width)
    return [head, *body, *_remedy(finding, state, width), *_evidence(finding, width), *doubts]


def _evidence(finding: Finding, width: int) -> list[Line]:
    by_name: dict[str, list[str]] = {}
    for evidence in finding.evidence:
        by_name.setdefault(fmt.clean(evidence.name), []).append(evidence_words(evidence))
    words = " · ".join(f"{name} {', '.join(values)}" for name, values in by_name.items())
    steps = max((evidence.window_steps for evidence in finding.evidence), default=0)
    over = f" (last {counted(steps, 'step')})" if steps else ""
    partly = f"; measured on {fmt.percent(finding.coverage)} of them" if finding.coverage < 0.995 else ""
    seen = first_seen(finding)
    told = f"{words}{over}{partly}{f' · {seen}' if seen else ''}".removeprefix(" · ")
    return [(Run("  "), *part) for part in wrap(told, width - 2, "dim")] if told else []


def _remedy(finding: Finding, state: DashboardState, width: int) -> list[Line]:
    remedy, drawn = finding.remedy, list[Line]()
    if remedy is None:
        return drawn
    if remedy.set:
        if offered(finding, state):
            drawn += _hanging(
                f"relaunch with {change_words(remedy, state)}", width, state.keys["relaunch"], "key"
            )
        else:
            drawn += _hanging(change_words(remedy, state), width, "→", "fine")
        for written in by_hand(remedy):
            drawn += _hanging(written, width, " ", "dim")
    place = places(finding)
    if remedy.advice:
        drawn += _hanging(f"{fmt.clean(remedy.advice)}{f' ({place})' * bool(place)}", width, "→", "fine")
    else:
        drawn += _hanging(place, width, " ", "dim")
    return drawn


def _doubts(finding: Finding, state: DashboardState, width: int) -> list[Line]:
    drawn: list[Line] = []
    if finding.remedy is not None and finding.remedy.caution:
        drawn += _hanging(fmt.clean(finding.remedy.caution), width, "!", "warning")
    if finding.unsure:
        drawn += _hanging(settled_by(finding.unsure, state), width, "○", "note")
    return drawn


def _hanging(text: str, width: int, mark: str, role: str) -> list[Line]:
    lead = f"  {mark} "
    wrapped = wrap(text, width - len(lead)) if text else []
    return [(Run(lead if index == 0 else " " * len(lead), role), *part) for index, part in enumerate(wrapped)]
