"""The pages of the dashboard as they are opened, what they ask of the hub, and the clipboard."""

from perftui.ipc.dashboard_messages import Answer, Done, Question
from perftui.tui.config.settled import DEFAULT, Config
from perftui.tui.glyphs import Glyphs
from perftui.tui.messages import Asker, QuestionAsked, RankOpened, TextCopied
from perftui.tui.pages import PAGES
from perftui.tui.screens.output import OutputScreen
from perftui.tui.screens.page_screen import PageScreen
from perftui.tui.screens.rank import RankScreen
from perftui.tui.terminal_app import TerminalApp

_COPIED_MAX = 60_000
"""Characters: terminals drop longer ones."""
_OPEN_MAX = 16
"""Questions that may wait for an answer."""


class PagedApp(TerminalApp[None]):
    """An app with pages; `send_to_hub` is what it needs of the dashboard."""

    def __init__(
        self, glyphs: Glyphs | None = None, config: Config = DEFAULT, *, read_only: bool = False
    ) -> None:
        super().__init__(glyphs, config)
        self.read_only = read_only
        self._questions: dict[str, Asker] = {}

    def send_to_hub(self, question: Question) -> None:
        """Send it; the answer comes as a message."""
        raise NotImplementedError

    def action_page(self, name: str) -> None:
        """Open a page, or close it when it is the one in view."""
        before = self.screen
        wanted = next(page for page in PAGES if page.name == name)
        if isinstance(before, PageScreen | OutputScreen):
            self.pop_screen()
        if not isinstance(before, wanted.kind):
            page = wanted.made(self.glyphs)
            page.read_only = self.read_only
            self.push_screen(page)

    def on_rank_opened(self, message: RankOpened) -> None:
        """Show all about a rank."""
        self.push_screen(RankScreen(self.glyphs, message.rank))

    def on_text_copied(self, message: TextCopied) -> None:
        """Hand a text to the terminal, which may or may not take it."""
        if message.text is None:
            self.notify(f"there is no {message.what} here to copy", markup=False)
            return
        self.copy_to_clipboard(message.text[:_COPIED_MAX])
        self.notify(f"{message.what} copied, if this terminal lets programs copy", markup=False)

    def on_question_asked(self, message: QuestionAsked) -> None:
        """Ask the hub."""
        self._questions[message.question.command_id] = message.asker
        while len(self._questions) > _OPEN_MAX:
            del self._questions[next(iter(self._questions))]
        self.send_to_hub(message.question)

    def took_answer(self, answer: Answer) -> bool:
        """Whether this answers a question of a page, which then knows."""
        if answer.command_id not in self._questions:
            return False
        if not answer.accepted:
            self._questions.pop(answer.command_id).told(None, answer.reason or "declined without a reason")
        return True

    def took_done(self, done: Done) -> bool:
        """Whether this is what a page has asked for, which then has it."""
        asker = self._questions.pop(done.command_id, None)
        if asker is not None:
            asker.told(done, "")
        return asker is not None
