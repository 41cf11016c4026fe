"""What a relaunch would change, gain, take and lose: everything a person should know before saying yes."""

from collections.abc import Mapping

from perftui.ipc.crowded import crowded_words
from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.settings import SettingValue, format_value
from perftui.tui import format as fmt
from perftui.tui.renderables.headline import severity_mark
from perftui.tui.renderables.lines import BLANK, Line, Run, line, wrap
from perftui.tui.renderables.remedy_words import by_hand, settings_in_force, told_time
from perftui.tui.state import DashboardState

_SEMANTICS = {
    "neutral": "neutral: the same samples and the same arithmetic; augmentations may be drawn anew",
    "numeric": "numeric: the same training, other rounding; losses are compared",
    "changes-training": "changes the training: results will differ",
}


def proposal_lines(state: DashboardState, finding: Finding, remedy: Remedy, width: int) -> list[Line]:
    """Draw the whole proposal."""
    mark, _, role = severity_mark(finding)
    why = wrap(fmt.clean(finding.sentence), width - 2)
    return [
        *((Run(f"{mark} " if index == 0 else "  ", role), *part) for index, part in enumerate(why)),
        BLANK,
        *_difference(settings_in_force(state), remedy.set),
        *(line(Run(f"  {written}", "dim")) for written in by_hand(remedy)),
        BLANK,
        *_item("gain", _gain(remedy, busy=state.host_is_busy), width, "fine"),
        *_item("kind", _SEMANTICS[remedy.semantics], width),
        *(_item("beware", fmt.clean(remedy.caution), width, "warning") if remedy.caution else ()),
        BLANK,
        *_item("now", _stopped(state), width, "warning"),
        *_item("then", _trials(told_time(state, remedy)), width),
        *(_item("beware", crowd, width, "warning") if (crowd := _crowd(state)) else ()),
        *_item("files", _FILES, width),
        *_item("after", _LAST, width),
    ]


_TRIALS = "1 to 4 short fresh launches, as it is (A) and changed (B) in turn"
_FILES = (
    "what trials save goes to a scratch folder, trackers are held off; what the script sends elsewhere, "
    "trials send too"
)
_LAST = "the changed run is started for good if it is faster, else the one you have now"


def _gain(remedy: Remedy, *, busy: bool) -> str:
    if remedy.expected is None and remedy.bound is None:
        return "not known beforehand"
    expected = f"expected {fmt.factor(remedy.expected)}" if remedy.expected is not None else "not predicted"
    told = f"{expected}, at most {fmt.factor(remedy.bound)}" if remedy.bound is not None else expected
    return f"{told}, if the host were quiet" if busy else told


def _trials(trials_s: tuple[float, float] | None) -> str:
    if trials_s is None:
        return f"{_TRIALS}; how long they take is not known yet"
    about, most = trials_s
    return f"{_TRIALS}: about {fmt.rough(about)}, at most {fmt.rough(most)}"


def _crowd(state: DashboardState) -> str | None:
    host = state.hosts[0] if state.hosts else None
    return crowded_words(host.others_busy, host.cpus) if host else None


def _stopped(state: DashboardState) -> str:
    header = state.header
    if header is None:
        return "this run is stopped"
    epoch = f" (epoch {header.epoch})" if header.epoch is not None else ""
    return (
        f"this run is stopped at step {fmt.count(header.step)}{epoch}, "
        f"after {fmt.duration(header.elapsed_s)}; what it has not saved is lost"
    )


def _difference(before: Mapping[str, SettingValue], after: Mapping[str, SettingValue]) -> list[Line]:
    longest = max(len(name) for name in after)
    return [
        line(
            Run(f"  {name:<{longest}}  ", "heading"),
            Run(format_value(before[name]) if name in before else fmt.NOTHING, "text"),
            Run("  →  ", "dim"),
            Run(format_value(value), "fine"),
        )
        for name, value in after.items()
    ]


def _item(name: str, words: str, width: int, role: str = "text") -> list[Line]:
    indent = 8
    return [
        (Run(f"{name if index == 0 else '':<{indent}}", "dim"), *part)
        for index, part in enumerate(wrap(words, width - indent, role))
    ]
