"""What a remedy would change and bring, in words: the same in the headline, the findings and the proposal."""

from collections.abc import Mapping

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.loader_names import split_name
from perftui.ipc.settings import SettingValue, format_value
from perftui.ipc.settings_as_code import lines_to_write
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, line, width_of
from perftui.tui.renderables.shortening import in_lines, shortened, without_beginning
from perftui.tui.state import DashboardState


def proposal(state: DashboardState) -> tuple[Finding, Remedy] | None:
    """Return the first finding whose remedy is a change of settings."""
    for finding in state.findings:
        if finding.remedy is not None and finding.remedy.set:
            return finding, finding.remedy
    return None


def told_time(state: DashboardState, remedy: Remedy) -> tuple[float, float] | None:
    """Return about how many seconds the trials of a remedy take, and at most; None: not the leading one."""
    first = proposal(state)
    return state.trials_s if first is not None and first[1].set == remedy.set else None


def offered(finding: Finding, state: DashboardState) -> bool:
    """Whether the key for the remedy would act on this finding, now."""
    first = proposal(state)
    return first is not None and first[0] is finding and not (state.replayed or state.ended)


def settings_in_force(state: DashboardState) -> dict[str, SettingValue]:
    """Return the settings as read back from the lead rank, else as asked for at the launch."""
    asked = dict(state.header.settings) if state.header else {}
    return {**asked, **(state.ranks[0].settings if state.ranks else {})}


def changes(before: Mapping[str, SettingValue], after: Mapping[str, SettingValue]) -> str:
    """Write a change of settings: `loader.num_workers 0 → 2`."""
    return ", ".join(
        f"{name} {format_value(before[name]) if name in before else fmt.NOTHING} → {format_value(value)}"
        for name, value in after.items()
    )


def values(settings: Mapping[str, SettingValue]) -> str:
    """Write settings without what they replace: `loader.num_workers 2`."""
    return ", ".join(f"{name} {format_value(value)}" for name, value in settings.items())


def change_words(remedy: Remedy, state: DashboardState) -> str:
    """Say which settings the remedy changes, and what it may gain."""
    told = changes(settings_in_force(state), remedy.set)
    hopes = [f"expected {fmt.factor(remedy.expected)}"] if remedy.expected is not None else []
    hopes += [f"at most {fmt.factor(remedy.bound)}"] if remedy.bound is not None else []
    quiet = " (if the host were quiet)" if state.host_is_busy else ""
    return f"{told}: {', '.join(hopes)}{quiet}" if hopes else told


def settled_by(text: str, state: DashboardState) -> str:
    """Say what is open, or what would settle it, with the key where one does it."""
    key = ""
    if "profile window" in text and not (state.replayed or state.ended):
        opens, asks = state.keys["profile"], state.keys["profile-choose"]
        key = f" ({asks} asks how many steps)" if "longer profile window" in text else f" ({opens} opens one)"
    return f"not sure: {fmt.clean(text)}{key}"


def by_hand(remedy: Remedy) -> list[str]:
    """Say what the script's owner would write instead of the settings, and in which line that is known of."""
    loaders = {name: value for name, value in remedy.set.items() if remedy.made_at and split_name(name)}
    others = {name: value for name, value in remedy.set.items() if name not in loaders}
    there, written = _written(loaders), _written(others)
    change = f"change: {fmt.clean(remedy.made_at or '')}: {there}" if there else ""
    return [each for each in (change, f"by hand: {written}" if written else "") if each]


def _written(settings: dict[str, SettingValue]) -> str:
    return "; ".join(lines_to_write(settings)).replace("…", "...")


def places(finding: Finding) -> str:
    """Say where the time goes, and where the loader is made if nothing has said so: `slow: train.py:31 load`.

    Where the two may be taken for one another: elsewhere a place is the line to look at.
    """
    remedy = finding.remedy
    if remedy is None:
        return ""
    named = any(split_name(name) for name in remedy.set)
    word = "slow:" if remedy.made_at and finding.code.startswith("input.") else "at"
    at = f"{word} {fmt.clean(remedy.at)}" if remedy.at else ""
    loader = f"DataLoader: {fmt.clean(remedy.made_at)}" if remedy.made_at and not named else ""
    return ", ".join(each for each in (at, loader) if each)


def remedy_lines(finding: Finding, state: DashboardState, width: int, most: int) -> list[Line]:
    """Draw what the remedy would do, in as many lines as there are; empty when there is none.

    A place that stands in the sentence above is not said again.
    """
    remedy = finding.remedy
    if remedy is None:
        told = settled_by(finding.unsure, state) if finding.unsure else ""
        return [line(Run(part, "dim")) for part in in_lines(told, width, most)] if told else []
    if not remedy.set:
        place = "" if (remedy.at or "") in finding.sentence else places(finding).removeprefix("at ")
        return _by_advice(fmt.clean(remedy.advice or ""), place, width, most)
    key = (
        line(Run(f"{state.keys['relaunch']} ", "key"), Run("relaunches with ", "dim"))
        if offered(finding, state)
        else BLANK
    )
    lead, *more = in_lines(change_words(remedy, state), max(1, width - width_of(key)), most)
    return [(*key, Run(lead, "value")), *(line(" " * width_of(key), Run(part, "value")) for part in more)]


def _by_advice(advice: str, place: str, width: int, most: int) -> list[Line]:
    """Draw what a person can do; the place where has its room in the last line."""
    place = without_beginning(place, width * 2 // 3)
    behind = line(Run(f"  {place}" if place else "", "dim"))
    if width_of(line(advice)) + width_of(behind) <= width or most < 2:
        return [line(shortened(advice, width - width_of(behind)), *behind)]
    *lead, last = in_lines(advice, width, most)
    if width_of(line(last)) + width_of(behind) <= width:
        return [*(line(part) for part in lead), line(last, *behind)]
    if len(lead) + 2 <= most:
        return [*(line(part) for part in (*lead, last)), line(Run(place, "dim"))]
    return [*(line(part) for part in lead), line(shortened(last, width - width_of(behind)), *behind)]
