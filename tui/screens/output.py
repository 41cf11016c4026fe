"""The training's output: follow it, or look for words in it."""

from textual.app import ComposeResult
from textual.widgets import Input

from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import OUTPUT
from perftui.tui.screens.run_screen import RunScreen
from perftui.tui.state import DashboardState
from perftui.tui.widgets.key_line import KeyLine
from perftui.tui.widgets.output_view import OutputView
from perftui.tui.widgets.run_header import RunHeader
from perftui.tui.widgets.trace_head import FilterLine


class OutputScreen(RunScreen):
    """As many of its newest lines as the hub keeps."""

    BINDINGS = OUTPUT
    AUTO_FOCUS = "#output-view"

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._header = RunHeader(glyphs, id="header")
        self._view = OutputView(glyphs, id="output-view")
        self._needle = FilterLine(id="trace-filter")
        self._needle.placeholder = "words to look for"

    def compose(self) -> ComposeResult:
        """Place the widgets."""
        yield self._header
        yield self._view
        yield self._needle
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        """Hide what is typed into until it is wanted."""
        self._needle.display = False

    def show(self, state: DashboardState, live: DashboardState, note: str) -> None:  # noqa: ARG002
        """Show the output of a state, the unfinished line below the finished ones."""
        self._header.show(state, note)
        unfinished = (state.partial,) if state.partial else ()
        self._view.show((*state.output, *unfinished), state.output_number + len(unfinished))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Leave the key to what is typed into, while that is there."""
        return not (action == "find" and self._needle.display)

    def action_find(self) -> None:
        """Begin to type what to look for."""
        self._needle.value = self._view.needle
        self._needle.display = True
        self.set_focus(self._needle)  # at once: keys may come in a burst

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for it as it is typed."""
        if self._needle.display:
            self._view.look_for(event.value)

    def on_filter_closed(self) -> None:
        """Go back to the output; what was typed stays marked."""
        self._view.look_for(self._needle.value)
        self._needle.display = False
        self.set_focus(self._view)

    def action_match(self, by: int) -> None:
        """Go to the next place, or the one before."""
        self._view.go(by)

    def action_follow(self) -> None:
        """Follow the newest line."""
        self._view.follow()

    def action_first(self) -> None:
        """Go to the oldest line that is kept."""
        self._view.go_first()

    def action_scroll(self, lines: int) -> None:
        """Move by lines."""
        self._view.scroll_by(lines)

    def action_turn(self, pages: int) -> None:
        """Move by pages."""
        self._view.turn(pages)

    def action_wrap(self) -> None:
        """Break long lines, or cut them."""
        self._view.wrap()
