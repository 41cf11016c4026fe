"""What is laid over a profile: where its files are, all about a span, and the question what to export as."""

from collections.abc import Sequence
from pathlib import Path

from perftui.tui import format as fmt
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import EXPORT, FACTS
from perftui.tui.renderables.lines import BLANK, Line, Run, line, wrap
from perftui.tui.renderables.trace_names import fold
from perftui.tui.screens.sheet_screen import SheetScreen
from perftui.tui.table_export import ExportKind
from perftui.tui.widgets.picture import key_names_for

_PERFETTO = (
    "Open https://ui.perfetto.dev in a browser, choose `Open trace file` and pick the trace. It is read in "
    "the browser, nothing is uploaded; .json and .json.gz are opened alike."
)
_ELSEWHERE = "If the browser is on another computer, copy the trace there first:"


class FactsScreen(SheetScreen[None]):
    """A text to read."""

    BINDINGS = FACTS

    def __init__(self, glyphs: Glyphs, title: str, lines: Sequence[Line]) -> None:
        self._lines = lines
        super().__init__(glyphs, title)

    def lines(self, width: int) -> Sequence[Line]:  # noqa: ARG002
        """Return the text, made for the width of a sheet."""
        return self._lines


class FileScreen(SheetScreen[None]):
    """Where the trace is, and how to open it."""

    BINDINGS = FACTS

    def __init__(self, glyphs: Glyphs, trace: str | None, report: Path | None, host: str | None) -> None:
        super().__init__(glyphs, "the trace's file")
        self._trace, self._report, self._host = trace, report, host

    def lines(self, width: int) -> Sequence[Line]:
        """Return paths in full, and what to do with them."""
        return file_lines(self._trace, self._report, self._host, width)


def file_lines(trace: str | None, report: Path | None, host: str | None, width: int) -> list[Line]:
    """Tell where the files of a rank are, and how to open the trace in Perfetto."""
    lines: list[Line] = []
    if trace:
        lines += [line(Run("trace", "heading")), *fold(fmt.visible(trace), width, "value"), BLANK]
    else:
        lines += [line(Run("this rank's trace was not kept, or is not known here", "note")), BLANK]
    if report is not None:
        lines += [line(Run("report", "heading")), *fold(fmt.visible(str(report)), width), BLANK]
    if trace:
        copy = f"scp {fmt.visible(host or 'HOST')}:{fmt.visible(trace)} ."
        lines += [
            line(Run("in Perfetto", "heading")),
            *wrap(_PERFETTO, width),
            BLANK,
            *wrap(_ELSEWHERE, width),
            *fold(copy, width, "key"),
        ]
    return lines


class ExportScreen(SheetScreen[ExportKind]):
    """As CSV or as JSON?"""

    BINDINGS = EXPORT

    def __init__(self, glyphs: Glyphs, what: str, folder: Path) -> None:
        super().__init__(glyphs, "export this table?")
        self._what, self._folder = what, folder

    def lines(self, width: int) -> Sequence[Line]:
        """Return what will be written, and where."""
        names = key_names_for(self)
        csv, json = names["export-csv"], names["export-json"]
        return [
            *wrap(fmt.visible(self._what), width, "value"),
            BLANK,
            *wrap(
                f"{csv} writes CSV: one line a row, the single values, times in the units of their names.",
                width,
            ),
            *wrap(f"{json} writes JSON: the same with shapes and callers.", width),
            BLANK,
            line(Run("into a new file in", "dim")),
            *fold(fmt.visible(str(self._folder)), width),
        ]

    def action_choose(self, kind: ExportKind) -> None:
        """Answer."""
        self.dismiss(kind)
