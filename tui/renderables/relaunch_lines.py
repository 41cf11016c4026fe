"""A relaunch as it goes: its trials, and the verdict at the end."""

from perftui.ipc.ledger_records import Verdict
from perftui.ipc.view import LaunchProgress, RelaunchView
from perftui.tui import format as fmt
from perftui.tui.renderables.launch_words import STAGES, elapsed_words, filled_cells
from perftui.tui.renderables.lines import BLANK, Line, Run, line, wrap
from perftui.tui.renderables.remedy_words import changes
from perftui.tui.renderables.verdict_words import verdict_words

_STATES = {
    "waiting": ("○", "dim"),
    "starting": ("○", "note"),
    "warming": ("○", "note"),
    "measuring": ("●", "accent"),
    "done": ("✔", "fine"),
    "failed": ("✖", "critical"),
    "stopped": ("■", "dim"),
}

_ENDED = ("done", "failed")


def relaunch_title(view: RelaunchView) -> Line:
    """Name the change that is being measured."""
    return line(Run("relaunch ", "title"), Run(changes(view.before, view.set), "value"))


def relaunch_lines(view: RelaunchView, width: int) -> list[Line]:
    """Draw the verdict, or else what is being done, and the launches below it."""
    drawn: list[Line] = []
    message = fmt.clean(view.message or "")
    if view.verdict is not None:
        drawn += verdict_of(view.verdict, width)
        message = message.removeprefix(fmt.clean(view.verdict.sentence)).lstrip("; ")
    if message and view.state != "measuring":  # then the top of the screen says it
        drawn += wrap(message, width, "warning" if view.state in ("done", "failed") else "value")
    if view.launches:
        drawn += [BLANK] if drawn else []
        ended = [launch.step_ms or 0.0 for launch in view.launches if launch.state in _ENDED]
        slowest = max(ended, default=0.0)
        for index, launch in enumerate(view.launches):
            drawn.append(_launch(index, launch, slowest, width))
            drawn += _going_on(launch, width)
    return drawn or [line(Run(f"○ {view.state}", "note"))]


def verdict_of(verdict: Verdict, width: int) -> list[Line]:
    """Draw a verdict: its sentence has the interval in it."""
    words = verdict_words(verdict)
    head = f"{words.mark} {words.word}"
    first, *more = wrap(f"{head} {words.rest}", max(1, width - 1), "value")
    text = first[0].text
    drawn = [
        line(Run(text[: len(head)], words.role), Run("  "), Run(text[len(head) :].lstrip(), "value")),
        *more,
    ]
    beside = [verdict.loss, *verdict.notes] if verdict.loss else verdict.notes
    return [*drawn, *(row for told in beside for row in wrap(fmt.clean(told), width, "dim"))]


def _launch(index: int, launch: LaunchProgress, slowest: float, width: int) -> Line:
    word: str = launch.state
    if word == "failed" and launch.launch is not None and launch.launch.outcome == "stopped":
        word = "stopped"  # by whoever gave the relaunch up: no fault of its own
    mark, role = _STATES[word]
    meaning = "as it is" if launch.label == "A" else "changed"
    room = max(0, min(40, width - 58))
    if launch.state in _ENDED:  # then it says how long a step took, to be compared
        filled = round(launch.step_ms / slowest * room) if launch.step_ms and slowest else 0
        bar = line(Run("█" * filled, "loader_wait" if launch.label == "A" else "optimizer"))
    else:
        filled = filled_cells(launch, room)
        bar = line(Run("█" * filled, "accent"), Run("░" * (room - filled), "dim"))
    return line(
        Run(f"{mark} ", role),
        Run(f"{index + 1} {launch.label} ", "title"),
        Run(f"{meaning:<9}", "dim"),
        Run(f"{STAGES.get(word, word):<10}", role),
        Run(f"{launch.steps:>6,}", "text"),
        Run(" steps  ", "dim"),
        Run(f"{fmt.milliseconds(launch.step_ms):>9}"),
        Run(" a step  ", "dim"),
        *bar,
    )


def _going_on(launch: LaunchProgress, width: int) -> list[Line]:
    """Say of a launch that goes on how long it has and why it does."""
    if launch.state in _ENDED:
        return []
    told = [elapsed_words(launch), fmt.clean(launch.why or "")]
    words = " · ".join(each for each in told if each)
    return [(Run("  "), *row) for row in wrap(words, max(10, width - 2), "dim")] if words else []
