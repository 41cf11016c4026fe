"""A run's report from its data: one order of parts for Markdown and page. Pure."""

from perftui.trainer.reporting.blocks import Block, Heading, Paragraph
from perftui.trainer.reporting.judgements import findings, unjudged, verdicts
from perftui.trainer.reporting.run_report import RunReport
from perftui.trainer.reporting.surroundings import own_cost, surroundings
from perftui.trainer.reporting.what_ran import moment, settings, state_words, what_ran
from perftui.trainer.reporting.where_time_goes import steps, windows


def document_of(report: RunReport) -> list[Block]:
    """Return the blocks of a report; the same data give the same blocks."""
    summary = report.summary
    return [
        Heading(1, f"perftui: {summary.name}"),
        Paragraph(f"{state_words(summary).capitalize()}; as of {moment(report.made_unix)}.", quiet=True),
        *_in_short(report),
        *what_ran(report),
        *steps(summary),
        *findings(summary),
        *unjudged(summary),
        *verdicts(report),
        *windows(report),
        *settings(summary),
        *surroundings(summary),
        *own_cost(summary),
        Paragraph(_closing(report), quiet=True),
    ]


def _in_short(report: RunReport) -> list[Block]:
    """The leading finding, or that there is none, and the newest verdict."""
    summary = report.summary
    blocks: list[Block] = []
    if summary.findings:
        blocks.append(Paragraph(summary.findings[0].sentence))
    elif any(rank.step_ms for rank in summary.ranks):
        blocks.append(Paragraph("No finding: no rule found a cause worth changing."))
    if summary.message:
        blocks.append(Paragraph(summary.message))
    return blocks


def _closing(report: RunReport) -> str:
    masked = (
        f" {report.masked} strings that look like secrets were masked; look the rest over before you send it."
        if report.masked
        else ""
    )
    return f"Made by {report.made_by}. Times are of the host's clock unless said to be the device's.{masked}"
