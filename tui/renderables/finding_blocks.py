"""The page of findings: each with all it is known from, what hangs under it, and what could not be judged."""

import shlex
from collections.abc import Sequence

from perftui.ipc.figures import counted
from perftui.ipc.findings import Evidence, Finding, Unjudged, nested
from perftui.ipc.settings import format_value
from perftui.tui import format as fmt
from perftui.tui.layout import WIDE
from perftui.tui.renderables.finding_words import evidence_words, first_seen
from perftui.tui.renderables.headline import severity_mark
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, fit, line, spread, width_of, wrap
from perftui.tui.renderables.page import Block
from perftui.tui.renderables.remedy_words import by_hand, change_words, places, settled_by
from perftui.tui.state import DashboardState, led_elsewhere, run_of

_INDENT = 4
_NAME_MAX = 30
_VALUE = 11
_KINDS = {
    "neutral": "neutral: the same samples, the same arithmetic",
    "numeric": "numeric: other rounding, losses are compared",
    "changes-training": "changes the training: results will differ",
}


def finding_key(finding: Finding) -> str:
    """Return what names a finding while its figures change."""
    return f"{finding.code} {finding.rank} {finding.host}"


def finding_blocks(state: DashboardState, width: int) -> list[Block]:
    """Draw all findings, then what could not be judged."""
    blocks: list[Block] = []
    for depth, finding in nested(state.findings):
        indent = _INDENT * depth
        body = _finding(finding, state, width - indent, follows=depth > 0)
        gap = [BLANK] if blocks else []
        blocks.append(Block(finding_key(finding), (*gap, *((Run(" " * indent), *part) for part in body))))
    if not blocks:
        said = "nothing found so far" if state.connected or state.ended else "no word from the hub"
        blocks.append(Block("", (line(Run(f"○ {said}", "note")),)))
    return [*blocks, *_unjudged_blocks(state, width)]


def _finding(finding: Finding, state: DashboardState, width: int, *, follows: bool) -> list[Line]:
    mark, word, role = severity_mark(finding)
    bough = Run("└ " if follows else "", "dim")
    where = f" rank {finding.rank}" if finding.rank is not None else ""
    host = f" {fmt.clean(finding.host)}" if finding.host is not None and len(state.hosts) > 1 else ""
    share = line(Run(fmt.percent(finding.share), "value"), Run(f" of the {finding.share_of}", "dim"))
    head = line(
        bough,
        Run(f"{mark} {word} ", role),
        Run(fmt.clean(finding.code), "title"),
        Run(f"{where}{host}", "value"),
    )
    cause = (
        f"follows from {fmt.clean(finding.under)}: deal with that first" if follows and finding.under else ""
    )
    return [
        spread(head, share if finding.share > 0 else BLANK, width),
        *((Run("  "), *part) for part in wrap(fmt.clean(finding.sentence), width - 2, "value")),
        *((Run("  "), *part) for part in wrap(cause, width - 2, "dim")),
        *((Run("  "), *part) for part in wrap(first_seen(finding), width - 2, "dim")),
        *_remedy(finding, state, width),
        *_evidence_rows(finding, width),
    ]


def _evidence_rows(finding: Finding, width: int) -> list[Line]:
    """Draw one row a figure: what, how much, and from where, which is said once for those below as well."""
    evidence = _by_source(finding.evidence)
    all_names = [fmt.clean(each.name) for each in evidence]
    # one thing in two units is named once
    names = [
        "" if name == before else name for before, name in zip(["", *all_names], all_names, strict=False)
    ]
    column = min(
        _NAME_MAX if width < WIDE else 2 * _NAME_MAX, max((width_of(line(name)) for name in names), default=0)
    )
    rows = [
        clip(
            line(
                "    ",
                *fit(line(Run(name, "dim")), column),
                *_right(evidence_words(each), _VALUE),
                Run(f"  {source}" if source else "", "dim"),
            ),
            width,
        )
        for name, each, source in zip(names, evidence, _sources(evidence), strict=True)
    ]
    if finding.coverage < 0.995:
        partly = f"measured in {fmt.percent(finding.coverage)} of these steps"
        rows.append(clip(line("    ", Run(partly, "note")), width))
    return rows


def _by_source(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return figures from one source below each other, in their order otherwise."""
    known = [each.window_steps for each in evidence]
    return sorted(evidence, key=lambda each: known.index(each.window_steps))


def _sources(evidence: Sequence[Evidence]) -> list[str]:
    """Return from where each figure is, said once for all below it that are from there too."""
    told = [_source(each) for each in evidence]
    return ["" if source == before else source for before, source in zip(["", *told], told, strict=False)]


def _right(text: str, width: int) -> Line:
    return line(Run(f" {text:>{width}}", "text"))


def _source(evidence: Evidence) -> str:
    steps = evidence.window_steps
    return f"over {counted(steps, 'step')}" if steps else "as last read"


def _remedy(finding: Finding, state: DashboardState, width: int) -> list[Line]:
    """Draw what can be done, of which kind that is, what speaks against it, and what would settle it."""
    remedy, drawn = finding.remedy, list[Line]()
    if remedy is not None and remedy.set:
        drawn += _hanging(change_words(remedy, state), width, "→", "fine")
        for written in by_hand(remedy):
            drawn += _hanging(written, width, " ", "dim", "value")
        drawn += _hanging(_KINDS[remedy.semantics], width, " ", "dim", "dim")
    if remedy is not None and remedy.advice:
        drawn += _hanging(fmt.clean(remedy.advice), width, "→", "fine")
    if places(finding):
        drawn += _hanging(places(finding), width, " ", "dim", "value")
    if remedy is not None and remedy.caution:
        drawn += _hanging(fmt.clean(remedy.caution), width, "!", "warning")
    if finding.unsure:
        drawn += _hanging(settled_by(finding.unsure, state), width, "○", "note")
    return drawn


def _hanging(text: str, width: int, mark: str, role: str, words: str = "text") -> list[Line]:
    return [
        (Run(f"  {mark} " if index == 0 else "    ", role), *part)
        for index, part in enumerate(wrap(text, width - 4, words))
    ]


def unjudged_groups(state: DashboardState) -> dict[tuple[str, str, str], list[Unjudged]]:
    """Return judgements that were not made, those that say the same of several ranks together."""
    grouped: dict[tuple[str, str, str], list[Unjudged]] = {}
    for each in state.unjudged:
        grouped.setdefault((each.code, each.reason, each.settled_by), []).append(each)
    return grouped


def _unjudged_blocks(state: DashboardState, width: int) -> list[Block]:
    """Draw the rules that abstain, each once for all ranks of which it says the same."""
    grouped = unjudged_groups(state)
    if not grouped:
        return []
    title = Run("not judged", "heading")
    count = Run(f" {len(grouped)}  each with what it would take", "dim")
    heading = Block("", (BLANK, clip(line(title, count), width)))
    return [heading, *(_unjudged(code, group, state, width) for (code, _, _), group in grouped.items())]


def _unjudged(code: str, group: Sequence[Unjudged], state: DashboardState, width: int) -> Block:
    ranks = sorted(each.rank for each in group if each.rank is not None)
    where = f" rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks[:8]))}" if ranks else ""
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    settled = fmt.clean(group[0].settled_by)
    key = (
        ""
        if state.replayed or state.ended or "profil" not in settled
        else f" ({state.keys['profile']} opens a window)"
    )
    return Block(
        f"unjudged {code} {group[0].reason}",
        (
            clip(
                line(Run("○ ", "note"), Run(fmt.clean(code), "title"), Run(f"{where}{more}", "value")), width
            ),
            *((Run("  "), *part) for part in wrap(fmt.clean(group[0].reason), width - 2)),
            *_hanging(f"{settled}{key}", width, "→", "note", "dim"),
        ),
    )


def finding_text(finding: Finding, state: DashboardState) -> str:
    """Return a finding as plain lines, to be pasted into a message or an issue."""
    rows = [f"{severity_mark(finding)[1]} {finding.code}: {fmt.clean(finding.sentence)}"]
    evidence = _by_source(finding.evidence)
    rows += [
        f"  {fmt.clean(each.name)}: {evidence_words(each)}{f' ({source})' if source else ''}"
        for each, source in zip(evidence, _sources(evidence), strict=True)
    ]
    remedy = finding.remedy
    if remedy is not None and remedy.advice:
        rows.append(f"  {fmt.clean(remedy.advice)}{f' ({places(finding)})' if places(finding) else ''}")
    elif places(finding):
        rows.append(f"  {places(finding)}")
    if remedy is not None and remedy.caution:
        rows.append(f"  but: {fmt.clean(remedy.caution)}")
    if finding.unsure:
        rows.append(f"  not sure: {fmt.clean(finding.unsure)}")
    if remedy is not None and remedy.set:
        rows += [f"  {each}" for each in (*by_hand(remedy), relaunch_command(finding, state)) if each]
    return "\n".join(rows)


def relaunch_command(finding: Finding, state: DashboardState) -> str | None:
    """Return the command that does what the remedy says; None where it changes no setting.

    Of a run that another host leads there is none either: here nothing goes by its name.
    """
    if finding.remedy is None or not finding.remedy.set or led_elsewhere(state):
        return None
    wanted = " ".join(
        f"--set {shlex.quote(f'{name}={format_value(value)}')}" for name, value in finding.remedy.set.items()
    )
    return f"perftui relaunch {shlex.quote(run_of(state))} {wanted}"
