"""The top of the screen during a relaunch, and its verdict until it is closed."""

from perftui.ipc.view import LaunchProgress, RelaunchView
from perftui.tui import format as fmt
from perftui.tui.renderables.launch_words import STAGES, elapsed_words
from perftui.tui.renderables.lines import Line, Run, clause, line, width_of
from perftui.tui.renderables.remedy_words import changes
from perftui.tui.renderables.verdict_words import verdict_words
from perftui.tui.state import DashboardState, going_on

_PICTURE = " · below: the run as it was when it was stopped"
_MEANING = {"A": "as it is", "B": "changed"}


def relaunch_headline(view: RelaunchView, state: DashboardState, width: int) -> tuple[Line, Line]:
    """Say what is going on, or how it came out, and which key ends it."""
    change = changes(view.before, view.set)
    if view.verdict is not None:
        words = verdict_words(view.verdict)
        head = line(Run(f"{words.mark} {words.word} ", words.role), Run(f"{change}: ", "dim"))
        return (*head, Run(clause(words.rest, width - width_of(head)), "value")), _next(view, state)
    message = fmt.clean(view.message or "")
    if view.state == "failed":
        return line(Run("✖ RELAUNCH FAILED ", "critical"), Run(message, "value")), _next(view, state)
    if view.state == "starting" and view.launches:  # it goes on already, and is measured as it goes
        return line(
            Run("● SWITCHED ", "accent"),
            Run(f"{change}: how it goes is measured{_time(view.launches[-1])}", "value"),
        ), _launch(view.launches[-1], state.keys["close"])
    if view.state != "measuring":
        word = view.state.upper()
        why = "the training, to measure" if view.state == "stopping" else "the training with"
        return line(Run(f"■ {word} ", "note"), Run(f"{why} {change}", "value")), line(Run(message, "dim"))
    number = max(1, len(view.launches))
    launch = view.launches[-1] if view.launches else None
    first = line(
        Run("● MEASURING ", "accent"),
        Run(change, "value"),
        Run(f": launch {number} of up to {view.most_launches}", "value"),
        Run(_time(launch), "value"),
    )
    return first, _launch(launch, state.keys["close"])


def _time(launch: LaunchProgress | None) -> str:
    """Say how many steps it has made, how long it has taken, and how long it may; nothing at its end."""
    if launch is None or launch.launch is not None:
        return ""
    told = [f"{launch.steps:,} steps" if launch.steps else "", elapsed_words(launch)]
    return "".join(f" · {each}" for each in told if each)


def _launch(launch: LaunchProgress | None, close: str) -> Line:
    """Say how the newest launch stands; the training itself stands still meanwhile."""
    told = ""
    if launch is not None:
        told = f" · {_MEANING[launch.label]}: {STAGES.get(launch.state, launch.state)}"
        told += f", {fmt.milliseconds(launch.step_ms)} a step" if launch.step_ms is not None else ""
    picture = f" · {fmt.clean(launch.why)}" if launch is not None and launch.why else _PICTURE
    return line(Run(f"{close} ", "key"), Run(f"gives up{told}{picture}", "dim"))


def _next(view: RelaunchView, state: DashboardState) -> Line:
    """Say what goes on now."""
    if going_on(view):
        return line(Run(fmt.clean(view.message or "the training is started again"), "dim"))
    now = "this run goes on as it was"
    if view.successor == state.run_id:
        now = "below: the run that goes on"
    elif view.successor is not None:
        now = f"the run that goes on: {fmt.clean(view.successor)}"
    elif state.ended:
        now = "no training goes on"
    kept = " · `perftui ledger` has it" if view.verdict is not None else ""
    return line(Run(f"{state.keys['close']} ", "key"), Run(f"closes this · {now}{kept}", "dim"))
