"""The top of the screen: what runs, and the answer to "is it fine?"."""

from collections.abc import Sequence

from rich.cells import cell_len

from perftui.ipc.findings import Finding
from perftui.ipc.view import Header, RanksTogether
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import (
    BLANK,
    Line,
    Run,
    clip,
    fit,
    join,
    join_fitting,
    line,
    spread,
    width_of,
)
from perftui.tui.renderables.phase_words import phase_words
from perftui.tui.renderables.rank_card import STATE_MARKS
from perftui.tui.renderables.relaunch_headline import relaunch_headline
from perftui.tui.renderables.remedy_words import remedy_lines
from perftui.tui.renderables.shortening import in_lines
from perftui.tui.renderables.time_words import replay_words
from perftui.tui.state import DashboardState, going_on

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
_NAME_LEAST = 12
_NAME_MODEST = 24
"""Of a name that is cut so that more than the state stands beside it."""
_NARROW = 60
"""Where nothing stands beside name, state and step anyhow."""
_SLOW = "slow terminal: "


def severity_mark(finding: Finding) -> tuple[str, str, str]:
    """Return mark, word and role of a finding; a healthy one says so."""
    if finding.code == "compute.bound":
        return "●", "FINE", "fine"
    return SEVERITY.get(finding.severity, ("●", "NOTE", "note"))


def header_line(state: DashboardState, width: int, note: str = "", slow_s: int | None = None) -> Line:
    """Draw the run's name, state, progress and loss, with the time at the right.

    Args:
        state: the run.
        width: in cells.
        note: that the rest of the screen is not of now.
        slow_s: in how many seconds there is one picture, on a terminal that cannot take more.
    """
    header = state.header
    if header is None:
        return fit(line(Run(" perftui ", "title"), Run(fmt.clean(state.run_id), "value")), width)
    mark, role = _STATES[header.state]
    status_word: str = header.state
    at = phase_words(header.phase, header.phase_for_s) if header.state == "training" else None
    if at is not None:
        role, status_word = "note", at
    if going_on(state.relaunch) and state.ended:
        mark, role, status_word = "●", "accent", "measuring a change"
    replayed = replay_words(header)
    replay = Run(f"  {replayed}" if replayed else "", "key")
    trial = Run("  TRIAL", "key") if header.trial else Run("")
    frozen = Run(f"  ⏸ {note}" if note else "", "key")
    status = line(Run(f"{mark} {status_word}", role), replay, trial, frozen)
    step, *progress = _progress(header, state.together)
    step = BLANK if note else step  # the note says at which step that was
    host = clip(line(Run(fmt.clean(header.host), "dim")), width // 5) if width >= 100 else BLANK
    gap = Run("  " if host else "", "dim")
    right = line(*host, gap, Run(f"{fmt.duration(header.elapsed_s)} ", "value"))
    room = width - width_of(right) - 2
    if note:  # that this is not the newest must be seen, whatever the run is called
        narrow = room < width_of(status) - width_of(line(frozen)) + 2 * _NAME_LEAST
        status = line(Run(f"⏸ {note}", "key")) if narrow else status
        status = clip(status, room if narrow else max(_NAME_LEAST, room - _NAME_LEAST - 2))
    slow = BLANK if slow_s is None else line(Run(f"one update in {slow_s} s", "warning"))
    name = _name(header, room, [status, step, slow])
    left = room - width_of(join([name, status, step], _GAP)) - width_of(_GAP)
    if slow and width_of(slow) + len(_SLOW) <= left:
        slow = line(Run(_SLOW, "warning"), *slow)
    return spread(join_fitting([name, status, step, slow, *progress], _GAP, room), right, width)


def _name(header: Header, room: int, beside: Sequence[Line]) -> Line:
    """Say what runs, cut so that what stands `beside` it keeps its room, the first of these at any rate."""
    called = fmt.clean(header.name) or fmt.clean(header.run_id)
    name = clip(line(Run(" perftui ", "dim"), Run(called, "title")), room // 2 if room > _NARROW else room)
    for kept in range(len(beside), 0, -1):
        left = room - width_of(join(beside[:kept], _GAP)) - width_of(_GAP)
        if left >= min(_NAME_MODEST if kept > 1 else _NAME_LEAST, width_of(name)):
            return clip(name, left)
    return BLANK


def _progress(header: Header, together: RanksTogether | None) -> list[Line]:
    """Return the parts of the progress, the most needed first."""
    step = line(Run("step ", "dim"), Run(fmt.count(header.step), "value"))
    loss = line(Run("loss ", "dim"), fmt.number(header.loss)) if header.loss is not None else BLANK
    ranks = _ranks(header, together)
    again = line(Run("attempt ", "dim"), Run(str(header.attempt), "warning")) if header.attempt > 1 else BLANK
    rest = [step, again, _epoch(header), _epoch_left(header), loss]
    return [ranks, *rest] if any(run.role == "warning" for run in ranks) else [*rest, ranks]


def _ranks(header: Header, together: RanksTogether | None) -> Line:
    """Say how many ranks there are, and while the run goes on how many of them do not train."""
    if header.world_size < 2:
        return BLANK
    shown = sum(together.states.values()) if together else 0
    few = Run(f"{shown:,} of ", "warning") if 0 < shown < header.world_size else Run("")
    words = [few, Run(f"{header.world_size:,}"), Run(" ranks", "dim")]
    for state in ("silent", "ended") if together and header.exit_code is None else ():
        count = together.states.get(state, 0) if together else 0
        if count and count < header.world_size:
            words.append(Run(f" {STATE_MARKS[state][0]} {count:,} {state}", "warning"))
    return line(*words)


def _epoch(header: Header) -> Line:
    """Say which epoch it is and how far, counted in steps."""
    if header.epoch is None:
        return BLANK
    if header.steps_total is None or header.epoch_step is None:
        return line(Run("epoch ", "dim"), str(header.epoch))
    total = Run(f"/{header.steps_total:,}", "dim")
    return line(Run(f"epoch {header.epoch}: ", "dim"), f"{header.epoch_step:,}", total)


def _epoch_left(header: Header) -> Line:
    if header.eta_s is None or header.exit_code is not None:
        return BLANK
    return line(Run("epoch left ", "dim"), fmt.duration(header.eta_s))


VERDICT_LEAST = 2
"""Lines of the verdict where none of its sentences is longer than one."""


def verdict_lines(state: DashboardState, width: int, most: int = VERDICT_LEAST) -> list[Line]:
    """Draw two lines or, up to `most`, as many as it takes: is it fine, and what can be done."""
    return [fit((Run(" "), *part), width) for part in _verdict(state, width - 1, most)]


def _verdict(state: DashboardState, width: int, most: int) -> list[Line]:
    """Draw what stands there: of the leading finding with as many lines as there are, else two."""
    told = _without_lead(state, width)
    if told is None:
        return _lead(state, width, most)
    first, second = told
    return [first, (Run("  "), *second)]


def _without_lead(state: DashboardState, width: int) -> tuple[Line, Line] | None:
    """Draw what is said before any finding; None: nothing is."""
    header = state.header
    if header is None:
        waited = f" for {fmt.age(state.silent_s)}" if state.silent_s else ""
        return line(Run(f"○ waiting{waited} for the hub of this run", "note")), BLANK
    if not state.connected and (going_on(state.relaunch) or not state.ended):
        return _silence(state)
    if state.relaunch is not None:
        return relaunch_headline(state.relaunch, state, width)
    if state.ended:
        return _ending(header, state.keys["detach"])
    news = fmt.clean(header.message) if header.message else ""
    if not state.findings or header.state in _WORDS_FOR_STATES:
        return _without_finding(state, header, news)
    return None


def _lead(state: DashboardState, width: int, most: int) -> list[Line]:
    """Draw the leading finding: its sentence, then its remedy or, where a host is lost, that."""
    lead, news = state.findings[0], fmt.clean(state.header.message or "") if state.header else ""
    mark, word, role = severity_mark(lead)
    head = f"{mark} {word} "
    room, sentence = max(1, width - cell_len(head)), fmt.clean(lead.sentence)
    lost = any(link.state == "lost" for link in state.links)
    below = [] if lost else remedy_lines(lead, state, width - 2, max(1, most - 1))
    needed = len(in_lines(sentence, room, most))
    told = in_lines(sentence, room, min(needed, max(most - max(1, len(below)), min(most - 1, 2))))
    below = below and remedy_lines(lead, state, width - 2, most - len(told))
    first = [
        line(Run(" " * cell_len(head) if at else head, role), Run(part, "value"))
        for at, part in enumerate(told)
    ]
    below = below or [line(Run(news, "warning" if lost else "dim"))]
    return [*first, *((Run("  "), *part) for part in below)]


def _silence(state: DashboardState) -> tuple[Line, Line]:
    whose, then = "the run's hub", "the training goes on without it; reconnecting"
    if state.replayed:
        whose, then = (
            "the replay",
            f"the recording is as it was: {state.keys['detach']} leaves, and `perftui replay` plays it again",
        )
    elif state.ended:  # the run was stopped for the trials of a relaunch
        then = "what measures the change goes on without it; reconnecting"
    lost = f"! NO ANSWER from {whose} for {fmt.age(state.silent_s)}"
    return (
        line(Run(lost, "warning"), Run("; what stands below is the last picture", "dim")),
        line(Run(then, "dim")),
    )


_WORDS_FOR_STATES = {
    "starting": "○ STARTING the training",
    "waiting": "○ WAITING for the first training step",
    "stalled": "! STALLED: no rank has finished a step for long",
    "stopping": "■ STOPPING the training",
}


def _without_finding(state: DashboardState, header: Header, news: str) -> tuple[Line, Line]:
    """Say where the run stands; before its first step, with the last that it has printed."""
    role = "critical" if header.state == "stalled" else "note"
    said = _WORDS_FOR_STATES.get(header.state, "○ MEASURING: no finding yet")
    printed = state.partial or next((text for text in reversed(state.output) if text.strip()), "")
    if not news and printed and header.state in ("starting", "waiting", "stalled"):
        news = f"last output: {printed}"
    if header.replay:
        at = state.keys
        through = f"{_pair(at['time-back'], at['time-on'])} go back or on"
        speeds = f"{_pair(at['slower'], at['faster'])} play slower or faster"
        news = f"{news} · {through}, {speeds}, {at['freeze']} pauses".lstrip(" ·")
    return line(Run(said, role)), line(Run(news, "dim"))


def _pair(one: str, other: str) -> str:
    """Name two keys in one word, where they are as short as arrows."""
    return f"{one}{other}" if len(one) == len(other) == 1 else f"{one} and {other}"


def _ending(header: Header, leave: str) -> tuple[Line, Line]:
    mark, role = _STATES[header.state]
    first = line(
        Run(f"{mark} RUN ENDED ", role),
        Run(_how(header), "value"),
        Run(f" after {fmt.duration(header.elapsed_s)}", "dim"),
    )
    news = fmt.clean(header.message) if header.message else f"this is its last picture; {leave} leaves"
    return first, line(Run(news, "dim"))


_STOPPED = {
    "user": "stopped by the user",
    "steps": "stopped at its limit of steps",
    "seconds": "stopped at its limit of time",
    "relaunch": "stopped for a relaunch",
}


def _how(header: Header) -> str:
    """Say how a run ended; how a stopped one left is no news."""
    if header.stopped_by is not None:
        return _STOPPED.get(header.stopped_by, f"stopped by {fmt.clean(header.stopped_by)}")
    if header.exit_code is None:
        return header.state
    how = f"signal {-header.exit_code}" if header.exit_code < 0 else f"exit code {header.exit_code}"
    return f"{header.state}, {how}"
