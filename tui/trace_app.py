"""A trace report from files, on the screen that the dashboard has for its windows: no run, no hub."""

from dataclasses import dataclass
from pathlib import Path

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from perftui.tui import format as fmt
from perftui.tui.config.settled import DEFAULT, Config
from perftui.tui.glyphs import Glyphs, glyphs_of_this_terminal
from perftui.tui.keys import ALONE
from perftui.tui.renderables.lines import Line, Run, line, spread
from perftui.tui.renderables.trace_names import middle_cut
from perftui.tui.report_shelf import ReportShelf, WindowRef
from perftui.tui.screens.help import HelpScreen
from perftui.tui.terminal import require_terminal
from perftui.tui.terminal_app import TerminalApp
from perftui.tui.widgets.key_line import KeyLine
from perftui.tui.widgets.run_header import HeaderLine
from perftui.tui.widgets.trace_pane import TracePane


@dataclass(frozen=True)
class Shown:
    """A report, and what a person knows it as."""

    path: Path
    """Of a `TraceReport`; its timelines lie beside it."""
    label: str


class _Title(HeaderLine):
    """Which report this is."""

    def __init__(self, glyphs: Glyphs, label: str) -> None:
        super().__init__(glyphs, id="header")
        self._label = label

    def draw(self) -> list[Line]:
        """Draw it."""
        room = max(8, self.size.width - 20)
        name = middle_cut(fmt.visible(self._label), room)
        return [spread(line(Run(" perftui trace", "title")), line(Run(f"{name} ", "dim")), self.size.width)]


class TraceScreen(Screen[None]):
    """One report."""

    AUTO_FOCUS = "#rows"

    def __init__(self, glyphs: Glyphs, shown: Shown, before: Shown | None) -> None:
        super().__init__()
        self._glyphs = glyphs
        shelf = ReportShelf()
        for each in (before, shown):
            if each is not None:
                shelf.add(WindowRef(each.label, each.path))
        self._path = shown.path
        self._title = _Title(glyphs, shown.label)
        self._pane = TracePane(glyphs, shelf, shown.label)

    def compose(self) -> ComposeResult:
        """Place the widgets."""
        yield self._title
        yield self._pane
        yield KeyLine(self._glyphs)

    def on_mount(self, _event: events.Mount) -> None:
        """Have the report read."""
        self._pane.show(None, self._path)


class TraceApp(TerminalApp[None]):
    """Shows a report until the person leaves."""

    BINDINGS = ALONE

    def __init__(
        self,
        report: Shown,
        before: Shown | None = None,
        glyphs: Glyphs | None = None,
        config: Config = DEFAULT,
    ) -> None:
        super().__init__(glyphs, config)
        self._report, self._before = report, before

    def on_mount(self) -> None:
        """Show the report; watch the terminal."""
        self.push_screen(TraceScreen(self.glyphs, self._report, self._before))
        self.watch_terminal()

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(HelpScreen(self.glyphs, of="trace", keys=self.config.keys))

    def action_leave(self) -> None:
        """Leave."""
        self.exit(return_code=0)


def run_trace_app(
    report: Path | tuple[Path, str],
    before: Path | tuple[Path, str] | None = None,
    *,
    config: Config = DEFAULT,
    ascii_only: bool = False,
) -> int:
    """Show a report until the person leaves; return 0, or 128 plus the signal that ended it.

    Args:
        report: the path of a `TraceReport`, with its timelines beside it, and what a person knows it as.
        before: the same of another window, which the tab `difference` compares it with.
        config: the person's own.
        ascii_only: draw with ASCII, whatever the environment says.

    Raises:
        UsageError: there is no terminal, or one that cannot show it.
    """
    require_terminal("`perftui trace --json FILE` prints the report instead")
    earlier = _shown(before) if before is not None else None
    glyphs = glyphs_of_this_terminal(ascii_only=ascii_only)
    return TraceApp(_shown(report), earlier, glyphs, config).run_here()


def _shown(report: Path | tuple[Path, str]) -> Shown:
    return Shown(report, report.name) if isinstance(report, Path) else Shown(*report)
