"""Which run? A short list to choose from, when several are alive."""

from collections.abc import Sequence
from pathlib import PurePath

from textual import events
from textual.app import ComposeResult

from perftui.ipc.run_lines import RunLine
from perftui.tui import format as fmt
from perftui.tui.config.settled import DEFAULT, Config
from perftui.tui.glyphs import Glyphs, glyphs_of_this_terminal
from perftui.tui.keys import PICKER
from perftui.tui.renderables.lines import Line, Run, fit, frame, line, plain
from perftui.tui.screens.help import HelpScreen
from perftui.tui.terminal import require_terminal
from perftui.tui.terminal_app import TerminalApp
from perftui.tui.widgets.key_line import KeyLine
from perftui.tui.widgets.picture import Picture

_NAME, _STATE, _PID = 24, 10, 8


class RunList(Picture, can_focus=True):
    """One line a run, with a cursor."""

    def __init__(self, glyphs: Glyphs, runs: Sequence[RunLine]) -> None:
        super().__init__(glyphs, id="runs")
        self._runs = runs
        self.row = 0
        self._top = 0

    def move(self, rows: int) -> None:
        """Move the cursor."""
        self.row = max(0, min(len(self._runs) - 1, self.row + rows))
        self.redraw()

    def draw(self) -> Sequence[Line]:
        """Draw the runs in a frame."""
        return self.lines(*self.size)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        """Draw the runs for a size."""
        room = max(1, height - 3)
        self._top = max(self.row - room + 1, min(self._top, self.row))
        shown = self._runs[self._top : self._top + room]
        heading = line(Run(f"{'name':<{_NAME}} {'state':<{_STATE}} {'pid':>{_PID}}  command", "heading"))
        rows = [self._row(run, index == self.row - self._top, width - 4) for index, run in enumerate(shown)]
        return frame([heading, *rows], width, height, line(Run("which run?", "title")))

    def _row(self, run: RunLine, chosen: bool, width: int) -> Line:
        pid = fmt.NOTHING if run.pid is None else str(run.pid)
        name = plain(fit(line(fmt.clean(run.name or run.run_id)), _NAME))
        program, *arguments = run.command or [""]
        command = fmt.clean(" ".join([PurePath(program).name, *arguments]))
        text = f"{name} {run.state:<{_STATE}} {pid:>{_PID}}  {command}"
        return line(Run(plain(fit(line(text), width)), "cursor" if chosen else "text"))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor under the mouse."""
        self.move(self._top + event.y - 2 - self.row)


class PickerApp(TerminalApp[str]):
    """Returns the id of the chosen run, or None."""

    BINDINGS = PICKER

    def __init__(
        self, runs: Sequence[RunLine], glyphs: Glyphs | None = None, config: Config = DEFAULT
    ) -> None:
        super().__init__(glyphs, config)
        self._runs = runs
        self._list = RunList(self.glyphs, runs)

    def compose(self) -> ComposeResult:
        """Place the list and its keys."""
        yield self._list
        yield KeyLine(self.glyphs)

    def on_mount(self) -> None:
        """Watch the terminal."""
        self.watch_terminal()

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._list.move(rows)

    def action_choose(self) -> None:
        """Take the run under the cursor."""
        self.exit(self._runs[self._list.row].run_id)

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(HelpScreen(self.glyphs, of="picker", keys=self.config.keys))

    def action_leave(self) -> None:
        """Take none."""
        self.exit(None)


def pick_run(lines: list[RunLine], *, config: Config = DEFAULT, ascii_only: bool = False) -> str | None:
    """Ask which run to attach to; None when the person leaves, or there is nothing to choose from.

    Raises:
        UsageError: there is no terminal to ask on.
    """
    if not lines:
        return None
    require_terminal()
    app = PickerApp(lines, glyphs_of_this_terminal(ascii_only=ascii_only), config)
    app.run_here()
    return app.return_value
