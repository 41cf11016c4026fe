"""The parts of a report that judge: findings, what could not be judged, verdicts of the ledger. Pure."""

from collections.abc import Iterator

from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.ipc.ledger_records import Comparison
from perftui.ipc.settings import format_value
from perftui.ipc.summary import Summary
from perftui.trainer.reporting.blocks import Block, Heading, Items, Paragraph, Table, percent_or_never
from perftui.trainer.reporting.run_report import RunReport
from perftui.trainer.reporting.what_ran import moment
from perftui.trainer.text_table import NEVER, number
from perftui.trainer.tuning.ledger_verb import change_words


def findings(summary: Summary) -> Iterator[Block]:
    """Yield each finding with its evidence and what to do."""
    yield Heading(2, "Findings")
    if not summary.findings:
        measured = any(rank.step_ms for rank in summary.ranks)
        yield Paragraph(
            "None: no rule found a cause worth changing." if measured else "None: nothing was measured."
        )
    for place, finding in enumerate(summary.findings, 1):
        yield from _finding(place, finding)


def _finding(place: int, finding: Finding) -> Iterator[Block]:
    yield Heading(
        3,
        f"{place}. {finding.code}: {finding.severity}, {percent_or_never(finding.share)} of the "
        f"{finding.share_of}",
    )
    where = "" if finding.rank is None else f"Rank {finding.rank}: "
    yield Paragraph(where + finding.sentence)
    if finding.first_step is not None and finding.first_s is not None:
        yield Paragraph(
            f"First seen at step {finding.first_step:,}, after {finding.first_s:.0f} s.", quiet=True
        )
    if finding.under:
        yield Paragraph(f"It follows from {finding.under}: deal with that first.")
    if finding.evidence:
        rows = tuple(_evidence_row(each) for each in finding.evidence)
        yield Table(("evidence", "value", "over steps"), rows, frozenset({1, 2}))
    if finding.coverage < 1:
        yield Paragraph(f"Measured in {percent_or_never(finding.coverage)} of the steps.", quiet=True)
    if finding.remedy is not None:
        yield Items(tuple(_remedy_lines(finding.remedy)))
    if finding.unsure:
        yield Paragraph(f"Not certain; what would settle it: {finding.unsure}")


def _evidence_row(evidence: Evidence) -> tuple[str, str, str]:
    value = (
        percent_or_never(evidence.value)
        if evidence.unit == "share"
        else f"{evidence.value:.4g} {evidence.unit}"
    )
    return evidence.name, value.strip(), str(evidence.window_steps) if evidence.window_steps else NEVER


def _remedy_lines(remedy: Remedy) -> Iterator[str]:
    if remedy.set:
        wanted = " ".join(f"--set {name}={format_value(value)}" for name, value in remedy.set.items())
        factors = [
            f"{word} {factor:.1f}×"
            for word, factor in (("expected", remedy.expected), ("at most", remedy.bound))
            if factor is not None
        ]
        yield f"Try {wanted} ({', '.join([remedy.semantics, *factors])})"
    if remedy.advice:
        yield remedy.advice
    if remedy.at:
        yield f"At {remedy.at}"
    if remedy.made_at:
        yield f"The DataLoader is made at {remedy.made_at}"
    if remedy.caution:
        yield f"Against it: {remedy.caution}"


def unjudged(summary: Summary) -> Iterator[Block]:
    """Yield what could not be judged, why, and what would settle it."""
    yield Heading(2, "What could not be judged")
    if not summary.unjudged:
        told = any(rank.step_ms for rank in summary.ranks)
        yield Paragraph("Every rule had what it needs." if told else "Nothing was measured.", quiet=True)
        return
    rows = tuple(
        (each.code, NEVER if each.rank is None else str(each.rank), each.reason, each.settled_by)
        for each in summary.unjudged
    )
    yield Table(("code", "rank", "why", "what would settle it"), rows)


def verdicts(report: RunReport) -> Iterator[Block]:
    """Yield the comparisons of the ledger that concern the run."""
    yield Heading(2, "Verdicts")
    if not report.ledger:
        yield Paragraph("The ledger has no comparison that concerns this run.", quiet=True)
        return
    rows = tuple(_verdict_row(line) for line in report.ledger)
    yield Table(("when", "change", "verdict", "gain", "interval", "launches", "commit"), rows)
    yield Items(tuple(f"{moment(line.unix)}: {line.verdict.sentence}" for line in report.ledger))


def _verdict_row(line: Comparison) -> tuple[str, ...]:
    verdict = line.verdict
    interval = NEVER
    if verdict.lo is not None and verdict.hi is not None:
        interval = f"{100 * verdict.lo:+.1f} to {100 * verdict.hi:+.1f} % ({verdict.confidence:.0%})"
    commit = NEVER if line.commit is None else line.commit[:12] + (" with changes" if line.dirty else "")
    return (
        moment(line.unix),
        change_words(line),
        verdict.verdict.replace("_", " "),
        NEVER if verdict.gain is None else number(100 * verdict.gain, "+.1f") + " %",
        interval,
        str(verdict.launches),
        commit,
    )
