"""The head of a search: what is measured now, or the answer; and what it all is compared with. Pure."""

from perftui.ipc.figures import counted
from perftui.ipc.search_view import SearchTrial, SearchView
from perftui.tui import format as fmt
from perftui.tui.renderables.launch_words import STAGES, elapsed_words
from perftui.tui.renderables.lines import Line, Run, clip, line, wrap
from perftui.tui.renderables.remedy_words import changes
from perftui.tui.renderables.verdict_words import verdict_words

_ALLOWED = {
    "neutral": "what leaves the arithmetic as it is",
    "numeric": "also what rounds otherwise",
    "changes-training": "also what makes it another training",
}


def now_lines(view: SearchView, width: int) -> list[Line]:
    """Draw how the search stands, in the first lines; then the command, and what it may do."""
    limit = f", {view.most_minutes:g} min a sitting at most" if view.most_minutes is not None else ""
    return [
        *(_measuring(view, width) if view.goes_on else _answer(view, width)),
        clip(line(Run(f"  $ {fmt.clean(' '.join(view.command))}", "dim")), width),
        clip(line(Run(f"  on {fmt.clean(view.host)}, allowed: {_ALLOWED[view.allow]}{limit}", "dim")), width),
    ]


def _measuring(view: SearchView, width: int) -> list[Line]:
    trial = view.now
    if trial is None and view.launch is None and view.trials:
        return [line(Run("● CHOOSING ", "accent"), Run("what is measured next", "value"))]
    what, number = "the original", len(view.baseline) + 1
    if trial is not None:
        number = len(trial.launches) + 1
        what = _what(view, trial)
    first = line(Run("● MEASURING ", "accent"), Run(what, "value"))
    launch = view.launch
    told = f"launch {number} of up to {view.most_launches}" if trial is not None else f"launch {number}"
    if launch is None:
        return [clip(first, width), clip(line(Run(f"  {told}: getting ready", "dim")), width)]
    label = f" ({'as it is' if launch.label == 'A' else 'changed'})"
    speed = f", {fmt.milliseconds(launch.step_ms)} a step" if launch.step_ms is not None else ""
    time = f" · {elapsed_words(launch)}" if elapsed_words(launch) else ""
    stage = STAGES.get(launch.state, launch.state)
    words = f"  {told}{label}: {stage}, {counted(launch.steps, 'step')}{speed}{time}"
    why = [clip(line(Run(f"  {fmt.clean(launch.why)}", "dim")), width)] if launch.why else []
    return [clip(first, width), clip(line(Run(words, "text")), width), *why]


def _what(view: SearchView, trial: SearchTrial) -> str:
    if trial.purpose == "final":
        return "the original against the result"
    return f"trial {len(view.trials) + 1}: {fmt.clean(changes(trial.before, trial.set))}"


def _answer(view: SearchView, width: int) -> list[Line]:
    """Draw the answer; of a search that was broken off without one, that it can go on."""
    verdict = view.final.verdict if view.final is not None else None
    if verdict is not None:
        words = verdict_words(verdict)
        mark, role, word = words.mark, words.role, f"{words.word}  "
    else:
        mark, role, word = ("○", "note", "") if view.sentence else ("!", "warning", "BROKEN OFF  ")
    said = view.sentence or "It has no answer yet: perftui tune --resume goes on with it."
    wrapped = wrap(f"{word}{fmt.clean(said)}", max(10, width - 2), "value")
    return [(Run(f"{mark} " if index == 0 else "  ", role), *part) for index, part in enumerate(wrapped)]
