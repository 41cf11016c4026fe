"""A search as lines of text: one for the baseline, one a trial, and the ladder at the end.

On a terminal the launch that goes on has a line of its own, written over and over; elsewhere only what is
done is written.
"""

import shlex
from collections.abc import Callable

from perftui.ipc.harmless import harmless
from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.search_records import Ended, Judged, Measured, Picture, SearchEntry
from perftui.ipc.settings import Settings
from perftui.ipc.settings_as_code import lines_to_write
from perftui.trainer.text_table import NEVER, table
from perftui.trainer.tuning.measure import Progress
from perftui.trainer.tuning.search.ending import baseline_words
from perftui.trainer.tuning.search.next_move import MOST_LAUNCHES, LaunchMove
from perftui.trainer.tuning.search.proposals import Choice, change_words
from perftui.trainer.tuning.search.search_document import not_tried
from perftui.trainer.tuning.search.state import Experiment, SearchState
from perftui.trainer.tuning.standing import Standing, going_words
from perftui.trainer.tuning.subject import run_words
from perftui.trainer.tuning.wording import fine_percent

_HEADINGS = ("", "change", "verdict", "gain", "98 % interval", "step", "predicted")
_CLEAR = "\r\x1b[K"
_WIDTH = 110
Write = Callable[[str], object]


class SearchLines:
    """Writes a search as it goes.

    Args:
        write: takes text.
        is_terminal: whether a line may be written over.
    """

    def __init__(self, write: Write, *, is_terminal: bool = False) -> None:
        self._write, self._is_terminal = write, is_terminal
        self._pending = False
        self._found: tuple[str, str] | None = None

    def take(self, state: SearchState, entry: SearchEntry) -> None:
        """Write what is new; `state` is the one after the entry."""
        if isinstance(entry, Measured) and state.open is None:
            self.line(f"baseline  {_measured_words(entry.launch)}")
            self._finding(state.picture)
        elif isinstance(entry, Judged):
            self.line(judged_line(state.judged[-1], len(state.trials)))
            if entry.kept:
                self._finding(state.picture)
        elif isinstance(entry, Ended):
            self._clear()

    def progress(self, state: SearchState, move: LaunchMove) -> Progress:
        """Return what to call as a launch goes on."""
        what = _what(state, move)

        def tell(stands: Standing) -> None:
            if not self._is_terminal:
                return
            self._write(f"{_CLEAR}{what}: {going_words(stands)}"[: _WIDTH + len(_CLEAR)])
            self._pending = True

        return tell

    def line(self, text: str) -> None:
        """Write one line."""
        self._clear()
        self._write(f"{harmless(text)}\n")

    def _clear(self) -> None:
        if self._pending:
            self._write(_CLEAR)
            self._pending = False

    def _finding(self, picture: Picture | None) -> None:
        """Write what leads, unless it is what was written last."""
        if picture is None or not picture.findings:
            return
        leading = picture.findings[0]
        told = (leading.code, leading.sentence)
        if told != self._found:
            self._found = told
            self.line(f"finding   {leading.code}: {leading.sentence}")


def _what(state: SearchState, move: LaunchMove) -> str:
    opened = state.open
    if opened is None:
        return "baseline"
    number = len(opened.measured) + 1
    which = "result" if opened.purpose == "final" else f"trial {len(state.trials) + 1}"
    change = change_words(opened.proposal.set)
    return f"{which}: {change}, launch {number} of {MOST_LAUNCHES} at most ({move.label})"


def _measured_words(launch: Launch) -> str:
    if launch.log_step_s is None:
        return f"could not be measured: {launch.note or launch.outcome}"
    known = f", known to {fine_percent(launch.se, signed=False)}" if launch.se is not None else ""
    settled = "" if launch.settled else "; its step time was still changing"
    return f"{baseline_words(launch)} ({launch.steps} steps{known}{settled})"


def judged_line(done: Experiment, number: int) -> str:
    """Return a comparison in one line."""
    verdict = done.verdict or Verdict(verdict="failed", sentence="not judged")
    word = verdict.verdict.replace("_", " ")
    told = verdict.sentence if verdict.sentence.startswith(word) else f"{word}, {verdict.sentence}"
    if done.purpose == "final":
        return f"result    {change_words(done.proposal.set)} against the original: {told}"
    fate = _fate(done)
    change = change_words(done.proposal.set, _in_force_before(done))
    return f"trial {number:<3} {change}: {word}, {fate}; {verdict.sentence}"


def _fate(done: Experiment) -> str:
    if done.kept:
        return "kept"
    bad = done.verdict is not None and done.verdict.verdict in ("slower", "failed")
    return "thrown away" if bad else "not kept"


def _in_force_before(done: Experiment) -> Settings:
    before = done.launch_of("A")
    return {**(before.effective if before else {}), **done.before}


def ladder(state: SearchState) -> list[str]:
    """Return the ladder as an aligned table: the original, each trial in order, and the result."""
    baseline = state.baseline
    original = change_words(state.plan.baseline) if state.plan.baseline else "as the script has it"
    rows: list[tuple[str, ...]] = [_HEADINGS]
    rows.append(("0", original, NEVER, NEVER, NEVER, _step(baseline), NEVER))
    rows += [_row(str(number), trial) for number, trial in enumerate(state.trials, start=1)]
    if state.final is not None:
        rows.append(_row("=", state.final))
    return table(rows)


def _row(number: str, done: Experiment) -> tuple[str, ...]:
    verdict = done.verdict or Verdict(verdict="failed", sentence="not judged")
    change = change_words(done.proposal.set, _in_force_before(done))
    if done.purpose == "final":
        change = "the result against the original"
    word = verdict.verdict.replace("_", " ")
    gain = NEVER if verdict.gain is None else fine_percent(verdict.gain)
    interval = NEVER
    if verdict.lo is not None and verdict.hi is not None:
        interval = f"{fine_percent(verdict.lo).removesuffix(' %')} to {fine_percent(verdict.hi)}"
    fate = word if done.purpose == "final" else f"{word}, {_fate(done)}"
    return (number, change, fate, gain, interval, _step(done.launch_of("B")), _predicted(done))


def _step(launch: Launch | None) -> str:
    return NEVER if launch is None or launch.step_ms is None else f"{launch.step_ms:.3g} ms"


def _predicted(done: Experiment) -> str:
    expected, bound = done.proposal.expected, done.proposal.bound
    most = "" if bound is None else f"at most {bound:.3g}×"
    return ", ".join(each for each in ("" if expected is None else f"{expected:.3g}×", most) if each) or NEVER


def end_lines(state: SearchState, choice: Choice) -> list[str]:
    """Return the end of a search: the ladder, the answer, what was not tried, and how to use the result."""
    lines = ["", *ladder(state)] if state.baseline is not None else []
    lines += ["", state.ended.sentence if state.ended else ""]
    left = not_tried(state, choice)
    if left:
        lines += ["", "not tried:"]
        lines += [f"  {change_words(proposal.set)} ({proposal.code}): {reason}" for proposal, reason in left]
    if state.changed:
        plan = state.plan
        lines += ["", "run it:", f"  {shlex.join(run_words(plan.command, state.best, plan.arguments))}"]
        lines += ["or write in the script:"]
        lines += [f"  {line}" for line in lines_to_write(state.changed, plan.arguments)]
    return lines
