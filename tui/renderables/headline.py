"""The top of the screen: what runs, and the answer to "is it fine?"."""

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.settings import SettingValue, format_value
from perftui.ipc.view import Header
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, fit, join_fitting, line, spread, width_of
from perftui.tui.state import DashboardState

SEVERITY = {"critical": ("▲", "CRITICAL", "critical"), "warning": ("!", "WARNING", "warning")}
_STATES = {
    "starting": ("○", "note"),
    "waiting": ("○", "note"),
    "training": ("●", "fine"),
    "stalled": ("!", "critical"),
    "stopping": ("■", "warning"),
    "finished": ("■", "fine"),
    "failed": ("✖", "critical"),
    "stopped": ("■", "warning"),
    "lost": ("✖", "critical"),
}
_GAP = line("  ")


def severity_mark(finding: Finding) -> tuple[str, str, str]:
    """Return mark, word and role of a finding; a healthy one says so."""
    if finding.code == "compute.bound":
        return "●", "FINE", "fine"
    return SEVERITY.get(finding.severity, ("●", "NOTE", "note"))


def header_line(state: DashboardState, width: int, note: str = "") -> Line:
    """Draw the run's name, state, progress and loss, with the time at the right."""
    header = state.header
    if header is None:
        return fit(line(Run(" perftui ", "title"), Run(fmt.clean(state.run_id), "value")), width)
    mark, role = _STATES[header.state]
    replay = Run("  REPLAY", "key") if header.replay else Run("")
    trial = Run("  TRIAL", "key") if header.trial else Run("")
    name = line(Run(" perftui ", "dim"), Run(fmt.clean(header.name) or fmt.clean(header.run_id), "title"))
    frozen = Run(f"  ⏸ {note}" if note else "", "key")
    status = line(Run(f"{mark} {header.state}", role), replay, trial, frozen)
    right = line(
        Run(f"{fmt.clean(header.host)}  " if width >= 100 else "", "dim"),
        Run(f"{fmt.duration(header.elapsed_s)} ", "value"),
    )
    room = width - width_of(right) - 2
    return spread(join_fitting([name, status, *_progress(header)], _GAP, room), right, width)


def _progress(header: Header) -> list[Line]:
    total = f"/{header.steps_total:,}" if header.steps_total is not None else ""
    step = line(Run("step ", "dim"), Run(fmt.count(header.step), "value"), Run(total, "dim"))
    loss = line(Run("loss ", "dim"), fmt.number(header.loss)) if header.loss is not None else BLANK
    eta = BLANK
    if header.eta_s is not None and header.exit_code is None:
        eta = line(Run("left ", "dim"), fmt.duration(header.eta_s))
    epoch = line(Run("epoch ", "dim"), str(header.epoch)) if header.epoch is not None else BLANK
    ranks = line(str(header.world_size), Run(" ranks", "dim")) if header.world_size > 1 else BLANK
    return [step, eta, loss, epoch, ranks]


def verdict_lines(state: DashboardState, width: int) -> list[Line]:
    """Draw two lines: is it fine, and what can be done."""
    first, second = _verdict(state)
    return [fit((Run(" "), *first), width), fit((Run(" "), *second), width)]


def _verdict(state: DashboardState) -> tuple[Line, Line]:
    header = state.header
    if header is None:
        waited = f" for {fmt.age(state.silent_s)}" if state.silent_s else ""
        return line(Run(f"○ waiting{waited} for the hub of this run", "note")), BLANK
    if state.ended:
        return _ending(header)
    if not state.connected:
        lost = f"! NO ANSWER from the run's hub for {fmt.age(state.silent_s)}"
        return (
            line(Run(lost, "warning"), Run("; what stands below is the last picture", "dim")),
            line(Run("  the training goes on without it; reconnecting", "dim")),
        )
    news = fmt.clean(header.message) if header.message else ""
    if not state.findings:
        return _without_finding(header, news)
    lead = state.findings[0]
    mark, word, role = severity_mark(lead)
    first = line(Run(f"{mark} {word} ", role), Run(fmt.clean(lead.sentence), "value"))
    second = remedy_line(lead, state) or line(Run(news, "dim"))
    return first, (Run("  "), *second)


def _without_finding(header: Header, news: str) -> tuple[Line, Line]:
    words = {
        "starting": "○ starting",
        "waiting": "○ waiting for the first training step",
        "stalled": "! STALLED: no rank has finished a step for long",
        "stopping": "■ stopping the training",
    }
    role = "warning" if header.state == "stalled" else "note"
    said = words.get(header.state, "○ measuring: no finding yet")
    return line(Run(said, role)), line(Run(f"  {news}" if news else "", "dim"))


def _ending(header: Header) -> tuple[Line, Line]:
    mark, role = _STATES[header.state]
    code = "" if header.exit_code is None else f", exit code {header.exit_code}"
    by = f", stopped by {fmt.clean(header.stopped_by)}" if header.stopped_by else ""
    first = line(
        Run(f"{mark} RUN ENDED ", role),
        Run(f"{header.state}{code}{by}", "value"),
        Run(f" after {fmt.duration(header.elapsed_s)}", "dim"),
    )
    news = fmt.clean(header.message) if header.message else "this is its last picture; q leaves"
    return first, line(Run(f"  {news}", "dim"))


def change(before: SettingValue, after: SettingValue, *, known: bool) -> str:
    """Write a change of one setting."""
    return f"{format_value(before) if known else fmt.NOTHING} → {format_value(after)}"


def settings_in_force(state: DashboardState) -> dict[str, SettingValue]:
    """Return the settings as read back from the lead rank, else as asked for at the launch."""
    asked = dict(state.header.settings) if state.header else {}
    return {**asked, **(state.ranks[0].settings if state.ranks else {})}


def remedy_line(finding: Finding, state: DashboardState) -> Line:
    """Draw what the remedy would do, in one line; blank when there is none."""
    remedy = finding.remedy
    if remedy is None:
        return line(Run(f"to settle it: {fmt.clean(finding.unsure)}", "dim")) if finding.unsure else BLANK
    if not remedy.set:
        return line(Run(fmt.clean(remedy.advice or ""), "text"), Run(_place(remedy), "dim"))
    key = () if state.replayed else (Run("r ", "key"), Run("relaunches with ", "dim"))
    return line(*key, Run(change_words(remedy, state), "value"))


def change_words(remedy: Remedy, state: DashboardState) -> str:
    """Say which settings the remedy changes, and what it may gain."""
    now = settings_in_force(state)
    changes = ", ".join(
        f"{name} {change(now.get(name), value, known=name in now)}" for name, value in remedy.set.items()
    )
    hopes = [f"expected {fmt.factor(remedy.expected)}"] if remedy.expected is not None else []
    hopes += [f"at most {fmt.factor(remedy.bound)}"] if remedy.bound is not None else []
    return f"{changes}: {', '.join(hopes)}" if hopes else changes


def _place(remedy: Remedy) -> str:
    return f"  {fmt.clean(remedy.at)}" if remedy.at else ""
