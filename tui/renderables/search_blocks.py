"""The page of a search for faster settings: how it stands, each trial, what was not tried, the answer."""

import shlex
from collections.abc import Sequence

from perftui.ipc.search_view import SearchAside, SearchTrial, SearchView
from perftui.tui import format as fmt
from perftui.tui.renderables.ledger_blocks import indented, item, launch_rows, prediction
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, line, wrap
from perftui.tui.renderables.page import Block
from perftui.tui.renderables.remedy_words import values
from perftui.tui.renderables.search_columns import trial_rows
from perftui.tui.renderables.search_now import now_lines

_NO_SEARCH = "no search on this host yet; begin one with: perftui tune -- python train.py"


def search_heading(view: SearchView | None) -> Line:
    """Return the page's title."""
    if view is None:
        return line(Run("tune", "title"))
    trials = len(view.trials) + (view.now is not None and view.now.purpose == "trial")
    state = Run("  ● going on", "fine") if view.goes_on else Run("  ○ at rest", "dim")
    name, most = fmt.clean(view.name), view.most_trials
    return line(Run(f"tune {name}", "title"), Run(f"  {trials} of {most} changes", "dim"), state)


def search_blocks(
    view: SearchView | None, opened: frozenset[str], width: int, *, why: str = ""
) -> Sequence[Block]:
    """Return the whole page.

    Args:
        view: None: there is no search, or none is known yet.
        opened: ids of the trials that have their details below them.
        width: in cells.
        why: why there is none.
    """
    if view is None:
        return [Block("", tuple(wrap(f"○ {fmt.clean(why or _NO_SEARCH)}", width, "note")))]
    head = Block("", (*now_lines(view, width), BLANK))
    rows = trial_rows(view, width)
    trials = [Block("", (clip(rows.heading, width), clip(rows.original, width)))]
    every = [*view.trials, *([view.now] if view.now is not None else []), *_final(view)]
    for trial, row in zip(every, rows.trials, strict=True):
        details = trial_details(trial, width) if trial.comparison_id in opened else []
        trials.append(Block(trial.comparison_id, (clip(row, width), *details)))
    return [head, *trials, *_asides(view, width), *_result(view, width)]


def _final(view: SearchView) -> list[SearchTrial]:
    return [view.final] if view.final is not None else []


def trial_details(trial: SearchTrial, width: int) -> list[Line]:
    """Draw all about one trial: the sentence, each launch, the prediction, and what proposed it."""
    verdict = trial.verdict
    said = fmt.clean(verdict.sentence) if verdict is not None else "not judged yet"
    why = "the original against the result" if trial.purpose == "final" else fmt.clean(trial.finding)
    rows = [
        *indented(said, width, "value"),
        *(indented(fmt.clean(verdict.loss), width) if verdict is not None and verdict.loss else []),
        *(part for note in (verdict.notes if verdict else []) for part in indented(fmt.clean(note), width)),
        *launch_rows(trial.launches, width),
        *item("predicted", prediction(trial.expected, trial.bound), width),
        *item("kind", f"{trial.semantics}, proposed by {why}", width),
    ]
    return [*rows, BLANK]


def _asides(view: SearchView, width: int) -> list[Block]:
    waiting = [each for each in view.aside if each.waits]
    others = [each for each in view.aside if not each.waits]
    blocks: list[Block] = []
    for title, found, mark in (("next, if nothing changes", waiting, "▷"), ("set aside", others, "○")):
        if found:
            heading = line(Run(title, "heading"), Run(f" {len(found)}", "dim"))
            blocks.append(Block("", (BLANK, clip(heading, width))))
            blocks += [_aside(each, mark, width) for each in found]
    return blocks


def _aside(aside: SearchAside, mark: str, width: int) -> Block:
    change = fmt.clean(values(aside.set))
    hoped = f"  {prediction(aside.expected, aside.bound)}" if aside.expected or aside.bound else ""
    first = line(
        Run(f"{mark} ", "note"),
        Run(change, "value"),
        Run(f"  {fmt.clean(aside.finding)}, {aside.semantics}{hoped}", "dim"),
    )
    words = [] if aside.waits else [(Run("  "), *part) for part in wrap(fmt.clean(aside.reason), width - 2)]
    return Block(f"aside {change}", (clip(first, width), *words))


def _result(view: SearchView, width: int) -> list[Block]:
    if not view.changed:
        return []
    written = [line(Run(f"    {fmt.clean(text)}", "text")) for text in view.write]
    title = "the result" if view.final is not None else "the best so far"
    lines = [
        BLANK,
        line(Run(title, "heading"), Run(f"  {fmt.clean(values(view.changed))}", "dim")),
        *item("run it", fmt.clean(search_command(view) or ""), width),
        *([line(Run("  or write in the script:", "dim"))] if written else []),
        *written,
    ]
    return [Block("result", tuple(clip(each, width) for each in lines))]


def search_command(view: SearchView | None) -> str | None:
    """Return the command that runs the best configuration so far; None: it is the original."""
    return shlex.join(view.run) if view is not None and view.run else None
