"""The ladder of a search as rows: change, verdict, gain with its interval, drawn on one axis. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from perftui.ipc.search_view import SearchTrial, SearchView
from perftui.tui import format as fmt
from perftui.tui.renderables.interval_plot import Axis, axis_of, interval_line
from perftui.tui.renderables.lines import Line, Run, clip, fit, line
from perftui.tui.renderables.remedy_words import changes, values
from perftui.tui.renderables.verdict_words import verdict_words

_NUMBER, _VERDICT, _GAIN, _INTERVAL, _STEP, _PLOT = 3, 15, 6, 14, 8, 22
_WITH_INTERVAL, _WITH_PLOT = 92, 108
"""From these widths on intervals are written, and drawn, too."""


@dataclass(frozen=True)
class TrialRows:
    """The rows of the ladder."""

    heading: Line
    original: Line
    trials: Sequence[Line]


@dataclass(frozen=True)
class _Room:
    """What there is room for."""

    change: int
    interval: bool
    plot: bool

    def row(self, cells: Sequence[Line]) -> Line:
        """Lay cells out: number, change, verdict, gain, interval, step, plot."""
        number, change, verdict, gain, interval, step, plot = cells
        laid = [
            fit(number, _NUMBER),
            fit(clip(change, self.change), self.change),
            fit(verdict, _VERDICT),
            _right(gain, _GAIN),
            *([_right(interval, _INTERVAL)] if self.interval else []),
            _right(step, _STEP),
            *([fit(plot, _PLOT)] if self.plot else []),
        ]
        return tuple(run for at, cell in enumerate(laid) for run in ((Run("  "), *cell) if at else cell))


def _room(width: int) -> _Room:
    interval, plot = width >= _WITH_INTERVAL, width >= _WITH_PLOT
    fixed = _NUMBER + _VERDICT + _GAIN + _STEP + 8
    fixed += (_INTERVAL + 2 if interval else 0) + (_PLOT + 2 if plot else 0)
    return _Room(max(12, width - fixed), interval, plot)


def trial_rows(view: SearchView, width: int) -> TrialRows:
    """Draw the original, each trial, the one that is being measured, and the result."""
    every = [*view.trials, *([view.now] if view.now else []), *([view.final] if view.final else [])]
    axis = axis_of([found[::2] for each in every if (found := _interval(each)) is not None])
    room, nothing = _room(width), line(Run(fmt.NOTHING, "dim"))
    words = ("#", "change", "verdict", "gain", "98 % interval", "step", _axis_words(axis))
    original = values(view.baseline[0].settings) if view.baseline else ""
    cells = [
        line(Run("0", "dim")),
        line(Run(fmt.clean(original) or "as the script has it", "text")),
        *(nothing, nothing, nothing),
        line(Run(fmt.milliseconds(view.step_ms), "value")),
        interval_line(axis, _PLOT, None, "frame"),
    ]
    return TrialRows(
        heading=room.row([line(Run(word, "dim")) for word in words]),
        original=room.row(cells),
        trials=[room.row(_cells(view, each, axis)) for each in every],
    )


def _cells(view: SearchView, trial: SearchTrial, axis: Axis) -> Sequence[Line]:
    final = trial.purpose == "final"
    places = [at for at, each in enumerate(view.trials, start=1) if each is trial]
    number = "=" if final else str(places[0] if places else len(view.trials) + 1)
    change = "the result against the original" if final else fmt.clean(changes(trial.before, trial.set))
    gain, found = trial.verdict.gain if trial.verdict else None, _interval(trial)
    mark, role = _mark(trial, goes_on=view.goes_on)
    low_high = fmt.gain_interval(found[0], found[2]) if found else fmt.NOTHING
    return (
        line(Run(number, "dim")),
        line(Run(change, "value" if trial.kept or final else "text")),
        line(Run(mark, role)),
        line(Run(fmt.whole_gain(gain), "value" if gain is not None else "dim")),
        line(Run(low_high, "text" if found else "dim")),
        line(Run(fmt.milliseconds(trial.step_ms), "text")),
        interval_line(axis, _PLOT, found, role),
    )


def _mark(trial: SearchTrial, *, goes_on: bool) -> tuple[str, str]:
    if trial.verdict is None:
        return ("● measuring", "accent") if goes_on else ("○ not judged", "note")
    words = verdict_words(trial.verdict)
    kept = ", kept" if trial.kept and trial.purpose == "trial" else ""
    return f"{words.mark} {words.short}{kept}", words.role


def _interval(trial: SearchTrial) -> tuple[float, float, float] | None:
    """Return low, gain and high of a verdict that has them."""
    verdict = trial.verdict
    if verdict is None or verdict.gain is None or verdict.lo is None or verdict.hi is None:
        return None
    return verdict.lo, verdict.gain, verdict.hi


def _right(cell: Line, width: int) -> Line:
    padding = width - sum(len(run.text) for run in cell)
    return line(Run(" " * max(0, padding)), *cell)


def _axis_words(axis: Axis) -> str:
    if axis.low == axis.high:
        return ""
    left, right = (fmt.whole_gain(end) if end else "0" for end in (axis.low, axis.high))
    return f"{left}{right:>{max(1, _PLOT - len(left))}}"
