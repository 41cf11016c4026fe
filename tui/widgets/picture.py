"""The base of all widgets here: it draws lines with roles, and repaints only the cells that changed.

The framework sends a whole widget to the terminal when it is refreshed; comparing lines first keeps the
bytes low, which is what counts over SSH.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.app import App
from textual.geometry import Region
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

from perftui.tui.format import visible
from perftui.tui.glyphs import Glyphs
from perftui.tui.key_map import KEY_NAMES
from perftui.tui.palette import Palette, palette_of
from perftui.tui.renderables.lines import BLANK, Line, Run, fit, frame, line, width_of
from perftui.tui.terminal_app import TerminalApp


class Picture(Widget):
    """A widget whose content is lines drawn by a pure function."""

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.glyphs = glyphs
        self._drawn: list[Line] = []
        self._lines: list[Line] = []
        self._strips: dict[int, Strip] = {}
        self._palette: Palette | None = None

    def draw(self) -> Sequence[Line]:
        """Return the picture for the widget's size."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Draw anew in the colours of another theme."""
        app_of(self).theme_changed_signal.subscribe(self, self._recolour)

    def _recolour(self, _theme: Theme) -> None:
        self._palette = None
        self._strips.clear()
        self.refresh()

    def redraw(self) -> None:
        """Draw, compare with what stands there, and repaint what differs."""
        width, height = self.size
        if width == 0 or height == 0:
            return
        drawn = list(self.draw()[:height])
        drawn += [BLANK] * (height - len(drawn))
        known, self._drawn = self._drawn, drawn
        if len(self._lines) != height:
            self._lines = [fit(part, width) for part in drawn]
            self._strips.clear()
            self.refresh()
            return
        changed: list[Region] = []
        for y in range(height):
            if known[y] != drawn[y]:
                fitted = fit(drawn[y], width)
                changed.append(_changed(y, self._lines[y], fitted))
                self._lines[y] = fitted
                self._strips.pop(y, None)
        if changed:
            self.refresh(*changed)

    def on_resize(self, _event: events.Resize) -> None:
        """Draw for the new size."""
        self._lines = []
        self.redraw()

    def render_line(self, y: int) -> Strip:
        """Return one line of the picture in colour."""
        if y not in self._strips:
            self._strips[y] = self._coloured(self._lines[y] if y < len(self._lines) else BLANK)
        return self._strips[y]

    def _coloured(self, line_: Line) -> Strip:
        return coloured(line_, self.palette).adjust_cell_length(self.size.width)

    @property
    def palette(self) -> Palette:
        """The colours of the theme in force."""
        if self._palette is None:
            self._palette = palette_for(self)
        return self._palette


def app_of(widget: Widget) -> App[object]:
    """Return the app, with a type that is known."""
    return widget.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def palette_for(widget: Widget) -> Palette:
    """Return the colours in force."""
    app = app_of(widget)
    return palette_of(app.current_theme, monochrome=app.no_color)


def key_names_for(widget: Widget) -> Mapping[str, str]:
    """Return what the key of each action looks like."""
    app = app_of(widget)
    return app.key_names if isinstance(app, TerminalApp) else KEY_NAMES


def coloured(line_: Line, palette: Palette) -> Strip:
    """Turn roles into colours; whatever a text holds, nothing in it commands the terminal."""
    return Strip([Segment(visible(run.text), palette.style(run.role, run.back)) for run in line_])


def _changed(y: int, before: Line, after: Line) -> Region:
    """Return the cells of line `y` that differ, from the first to the last; both lines have one width."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    left = width_of(after[:same])
    old, new = _cells(before[same:]), _cells(after[same:])
    if len(old) != len(new):
        return Region(left, y, len(new), 1)
    different = [x for x, (cell, other) in enumerate(zip(new, old, strict=True)) if cell != other]
    if not different:
        return Region(left, y, 1, 1)
    return Region(left + different[0], y, different[-1] - different[0] + 1, 1)


def _cells(line_: Line) -> list[tuple[str, str, str]]:
    """Return one entry a cell; a wide character stands in both of its cells."""
    return [
        (character, run.role, run.back)
        for run in line_
        for character in run.text
        for _ in range(1 if character.isascii() else cell_len(character))
    ]


class WheeledPicture(Picture):
    """A picture that the mouse's wheel moves."""

    wheel_lines = 3
    """By so many lines at a time."""

    @abstractmethod
    def scroll_by(self, lines: int) -> None:
        """Move down by so many lines, or up (below 0)."""

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move down."""
        event.stop()
        self.scroll_by(self.wheel_lines)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move up."""
        event.stop()
        self.scroll_by(-self.wheel_lines)


class FramedPicture(WheeledPicture, can_focus=True):
    """A picture whose frame shows whether it has the keys."""

    @property
    def frame_role(self) -> str:
        """The role of the frame."""
        return "frame-selected" if self.has_focus else "frame"

    def on_focus(self) -> None:
        """Show the focus in the frame."""
        self.redraw()

    def on_blur(self) -> None:
        """Show the focus in the frame."""
        self.redraw()


class ScrolledPicture(FramedPicture):
    """A framed picture that may be longer than its room; it scrolls."""

    offset_lines = 0

    def title(self) -> Line:
        """Return the title in the frame."""
        return BLANK

    def body(self, width: int) -> Sequence[Line]:
        """Return all lines at this width."""
        raise NotImplementedError

    def draw(self) -> Sequence[Line]:
        """Frame the lines in view, and say how many are out of it."""
        width, height = self.size
        body = self.body(max(1, width - 4))
        room = max(1, height - 2)
        self.offset_lines = max(0, min(self.offset_lines, len(body) - room))
        below = len(body) - room - self.offset_lines
        right = self.out_of_view(self.offset_lines, max(0, below))
        shown = body[self.offset_lines : self.offset_lines + room]
        return frame(shown, width, height, self.title(), right, self.frame_role)

    def out_of_view(self, above: int, below: int) -> Line:
        """Say how many lines are out of view."""
        words = [f"↑{above}"] if above else []
        words += [f"↓{below} more"] if below else []
        return line(Run(" ".join(words), "dim"))

    def scroll_by(self, lines: int) -> None:
        """Move by so many lines."""
        self.offset_lines = max(0, self.offset_lines + lines)
        self.redraw()
