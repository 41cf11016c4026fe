"""A relaunch as it goes: its trials, and the verdict at the end."""

from perftui.ipc.ledger_records import Verdict
from perftui.ipc.view import LaunchProgress, RelaunchView
from perftui.tui import format as fmt
from perftui.tui.renderables.headline import change
from perftui.tui.renderables.lines import BLANK, Line, Run, line, wrap

_STATES = {
    "waiting": ("○", "dim"),
    "starting": ("○", "note"),
    "warming": ("○", "note"),
    "measuring": ("●", "accent"),
    "done": ("✔", "fine"),
    "failed": ("✖", "critical"),
}
_VERDICTS = {"faster": ("▲", "fine"), "slower": ("!", "critical"), "failed": ("✖", "critical")}


def relaunch_title(view: RelaunchView) -> Line:
    """Name the change that is being measured."""
    changes = ", ".join(
        f"{name} {change(view.before.get(name), value, known=name in view.before)}"
        for name, value in view.set.items()
    )
    return line(Run("relaunch ", "title"), Run(changes, "value"))


def relaunch_lines(view: RelaunchView, width: int) -> list[Line]:
    """Draw the verdict, or else what is being done, and the launches below it."""
    drawn: list[Line] = []
    if view.verdict is not None:
        drawn += verdict_of(view.verdict, width)
    if view.message:
        drawn += wrap(fmt.clean(view.message), width, "dim" if view.verdict else "value")
    if view.launches:
        drawn += [BLANK] if drawn else []
        slowest = max((launch.step_ms or 0.0 for launch in view.launches), default=0.0)
        drawn += [_launch(index, launch, slowest, width) for index, launch in enumerate(view.launches)]
    return drawn or [line(Run(f"○ {view.state}", "note"))]


def verdict_of(verdict: Verdict, width: int) -> list[Line]:
    """Draw a verdict with its interval."""
    mark, role = _VERDICTS.get(verdict.verdict, ("○", "note"))
    words = verdict.verdict.replace("_", " ").upper()
    interval = ""
    if verdict.gain is not None:
        interval = f"  {fmt.gain(verdict.gain)}"
        if verdict.lo is not None and verdict.hi is not None:
            interval += f"  [{fmt.gain(verdict.lo)} … {fmt.gain(verdict.hi)}]"
    basis = f"  {verdict.launches} launches, {verdict.steps:,} steps" if verdict.launches else ""
    head = line(Run(f"{mark} {words}", role), Run(interval, "value"), Run(basis, "dim"))
    body = wrap(fmt.clean(verdict.sentence), width)
    loss = [line(Run("loss: ", "dim"), Run(fmt.clean(verdict.loss)))] if verdict.loss else []
    return [head, *body, *loss]


def _launch(index: int, launch: LaunchProgress, slowest: float, width: int) -> Line:
    mark, role = _STATES[launch.state]
    meaning = "as it is" if launch.label == "A" else "changed"
    room = max(0, min(40, width - 56))
    filled = round(launch.step_ms / slowest * room) if launch.step_ms and slowest else 0
    return line(
        Run(f"{mark} ", role),
        Run(f"{index + 1} {launch.label} ", "title"),
        Run(f"{meaning:<9}", "dim"),
        Run(f"{launch.state:<10}", role),
        Run(f"{launch.steps:>6,}", "text"),
        Run(" steps  ", "dim"),
        Run(f"{fmt.milliseconds(launch.step_ms):>9}"),
        Run(" a step  ", "dim"),
        Run("█" * filled, "loader_wait" if launch.label == "A" else "optimizer"),
    )
