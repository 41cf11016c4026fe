"""What threads tell the app, and what widgets ask of it."""

from pathlib import Path
from typing import Protocol

from textual.message import Message

from perftui.ipc.dashboard_messages import Answer, Done, Question
from perftui.ipc.findings import Finding
from perftui.ipc.trace_difference import TraceDifference
from perftui.ipc.trace_report import TraceReport
from perftui.tui.past import Past
from perftui.tui.renderables.timeline_index import Span, TimelineIndex
from perftui.tui.state import DashboardState


class StateChanged(Message):
    """The run looks different now. Only the newest one matters."""

    def __init__(self, state: DashboardState, past: Past | None = None) -> None:
        super().__init__()
        self.state, self.past = state, past or Past()

    def can_replace(self, message: Message) -> bool:
        """Take the place of an older one that still waits."""
        return isinstance(message, StateChanged)


class CommandAnswered(Message):
    """The hub (or the link, when there is no hub) took or declined a command."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


class CommandDone(Message):
    """A command has run to its end."""

    def __init__(self, done: Done) -> None:
        super().__init__()
        self.done = done


class LinkFailed(Message):
    """The hub cannot be understood; nothing more will come."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class RankChosen(Message):
    """A rank was clicked or moved to."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank


class RankFollowed(Message):
    """All about this rank is shown from now on."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank


class RankOpened(Message):
    """All about one rank is wanted."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank


class ProposalAsked(Message):
    """A relaunch with the remedy of this finding is wanted; None: of what has none."""

    def __init__(self, finding: Finding | None) -> None:
        super().__init__()
        self.finding = finding


class TextCopied(Message):
    """A text is to be put on the clipboard of the person's terminal; None: there is none."""

    def __init__(self, text: str | None, what: str) -> None:
        super().__init__()
        self.text, self.what = text, what


class Asker(Protocol):
    """Whoever asks the hub."""

    def told(self, done: Done | None, why: str) -> None:
        """Take what was asked; None: it cannot be had, and why."""


class QuestionAsked(Message):
    """The hub is to be asked; its answer goes to who asked, whatever is on top of it then."""

    def __init__(self, question: Question, asker: Asker) -> None:
        super().__init__()
        self.question, self.asker = question, asker


class ReportRead(Message):
    """A report was read, or why it could not be."""

    def __init__(self, path: Path, report: TraceReport | None, why: str = "") -> None:
        super().__init__()
        self.path, self.report, self.why = path, report, why


class TimelineRead(Message):
    """A timeline was read, or why it could not be."""

    def __init__(self, path: Path, index: TimelineIndex | None, why: str = "") -> None:
        super().__init__()
        self.path, self.index, self.why = path, index, why


class WindowsCompared(Message):
    """Two windows (paths of their reports, and the rank) were compared, or why they could not be."""

    def __init__(self, pair: tuple[Path, Path, int], found: TraceDifference | None, why: str = "") -> None:
        super().__init__()
        self.pair, self.found, self.why = pair, found, why


class SpanAsked(Message):
    """All about one span of a timeline is wanted."""

    def __init__(self, index: TimelineIndex, span: Span) -> None:
        super().__init__()
        self.index, self.span = index, span


class FilterClosed(Message):
    """A filter was typed to its end."""


class StateWanted(Message):
    """A screen has come up and would like to show the run."""
