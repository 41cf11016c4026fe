"""The page of experiments: one row a comparison, and all about one below it."""

import shlex
from collections.abc import Sequence

from perftui.ipc.ledger_records import Comparison, Launch
from perftui.ipc.settings import combined, format_value
from perftui.tui import format as fmt
from perftui.tui.renderables.ledger_columns import (
    ENDED_WELL,
    LedgerColumn,
    LedgerOrder,
    columns_of,
    ordered,
)
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, line, wrap
from perftui.tui.renderables.page import Block

_OUTCOMES = {
    "oom_gpu": "out of GPU memory",
    "oom_host": "out of host memory",
    "died_at_start": "died before its first step",
    "hung": "hung: no step for long",
    "lost": "lost: its end was not seen",
}


def ledger_blocks(
    comparisons: Sequence[Comparison], order: LedgerOrder, opened: frozenset[str], width: int
) -> list[Block]:
    """Draw the heading and one block a comparison, with its details where it is opened."""
    columns = columns_of(width)
    heading = [_heading(column, order) for column in columns]
    blocks = [Block("", (_row(heading, columns, width),))]
    for each in ordered(comparisons, order):
        row = _row([column.cell(each) for column in columns], columns, width)
        details = ledger_details(each, width) if each.comparison_id in opened else []
        blocks.append(Block(each.comparison_id, (row, *details)))
    return blocks


def _heading(column: LedgerColumn, order: LedgerOrder) -> Line:
    arrow = ("↑" if order.upward else "↓") if column.heading == order.column else ""
    return line(Run(f"{column.heading}{arrow}", "heading" if arrow else "dim"))


def _row(cells: Sequence[Line], columns: Sequence[LedgerColumn], width: int) -> Line:
    drawn: list[Run] = []
    for cell, column in zip(cells, columns, strict=True):
        if column.width:
            shown = clip(cell, column.width)
            padding = Run(" " * (column.width - sum(len(run.text) for run in shown)))
            drawn += [padding, *shown, Run("  ")] if column.right else [*shown, padding, Run("  ")]
        else:
            drawn += cell
    return clip(line(*drawn), width)


def ledger_details(comparison: Comparison, width: int) -> list[Line]:
    """Draw all about one: the sentence, each launch, the prediction, and where it comes from."""
    verdict = comparison.verdict
    rows = [
        *indented(fmt.clean(verdict.sentence), width, "value"),
        *(indented(fmt.clean(verdict.loss), width) if verdict.loss else []),
        *launch_rows(comparison.launches, width),
        *item("predicted", prediction(comparison.expected, comparison.bound), width),
        *item(
            "kind",
            f"{comparison.semantics}, proposed by {fmt.clean(comparison.finding)}"
            if comparison.finding
            else comparison.semantics,
            width,
        ),
        *item("code", _origin(comparison), width),
        *item("host", _host(comparison), width),
        *item(
            "versions",
            ", ".join(f"{fmt.clean(k)} {fmt.clean(v)}" for k, v in comparison.versions.items()),
            width,
        ),
        *item("command", fmt.clean(" ".join(comparison.command)), width),
    ]
    return [*rows, BLANK]


def indented(text: str, width: int, role: str = "text") -> list[Line]:
    """Wrap a text below a row."""
    return [(Run("  "), *part) for part in wrap(text, width - 2, role)]


def item(name: str, words: str, width: int) -> list[Line]:
    """Draw a fact with its name before it."""
    return [
        (Run(f"  {name if index == 0 else '':<11}", "dim"), *part)
        for index, part in enumerate(wrap(words, width - 13))
    ]


def launch_rows(launches: Sequence[Launch], width: int) -> list[Line]:
    """Draw a line for each launch, with a heading."""
    if not launches:
        return []
    heading = f"  {'launch':<9}{'steps':>7}{'ms/step':>10}{'± %':>7}{'start':>9}{'loss':>9}{'others':>8}  end"
    rows = [clip(line(Run(heading, "dim")), width)]
    for number, each in enumerate(launches, 1):
        role = "accent" if each.label == "B" else "text"
        start = fmt.NOTHING if each.startup_s is None else fmt.rough(each.startup_s)
        noise = fmt.NOTHING if each.se is None else f"{each.se * 100:.1f}"
        others = fmt.NOTHING if each.foreign_cores is None else f"{each.foreign_cores:.1f}"
        figures = (
            f"{each.steps:>7,}{fmt.number(each.step_ms):>10}{noise:>7}{start:>9}"
            f"{fmt.number(each.loss):>9}{others:>8}  "
        )
        rows.append(clip(line(Run(f"  {number} {each.label}{'':<5}", role), figures, *_end(each)), width))
        if each.note:
            rows += [(Run("      "), *part) for part in wrap(fmt.clean(each.note), width - 6, "warning")]
    return rows


def _end(launch: Launch) -> Line:
    if launch.outcome in ENDED_WELL:
        settled = Run("" if launch.settled else " not settled", "warning")
        return line(Run("✔", "fine"), Run(f" {launch.outcome}", "dim"), settled)
    return line(Run(f"✖ {_OUTCOMES.get(launch.outcome, launch.outcome)}", "critical"))


def prediction(expected: float | None, bound: float | None) -> str:
    """Say what was thought of a change before it was measured; factors of speed."""
    if expected is None and bound is None:
        return "nothing"
    hoped = f"{fmt.factor(expected)} expected" if expected is not None else "—"
    return f"{hoped}, {fmt.factor(bound)} at most" if bound is not None else hoped


def _origin(comparison: Comparison) -> str:
    if comparison.commit is None:
        return "no commit known"
    dirty = " with changes that are not committed" if comparison.dirty else ""
    return f"commit {fmt.clean(comparison.commit)[:12]}{dirty}"


def _host(comparison: Comparison) -> str:
    gpus = sorted({uuid for launch in comparison.launches for uuid in launch.gpu_uuids})
    return fmt.clean(", ".join([comparison.host, *gpus]))


def changed_command(experiment: Comparison) -> str:
    """Return the command that starts the training as B was started: the change, and what held before it."""
    settings = combined(experiment.before, experiment.set)
    wanted = "".join(
        f" --set {shlex.quote(f'{name}={format_value(value)}')}" for name, value in settings.items()
    )
    return fmt.clean(f"perftui run{wanted} -- {shlex.join(experiment.command)}")
