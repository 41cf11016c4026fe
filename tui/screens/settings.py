"""The settings in force on each rank, as read back from it."""

from collections.abc import Sequence

from perftui.ipc.settings import SettingValue
from perftui.tui.glyphs import Glyphs
from perftui.tui.keys import SETTINGS
from perftui.tui.messages import TextCopied
from perftui.tui.renderables.lines import Line, Run, line
from perftui.tui.renderables.page import Block
from perftui.tui.renderables.settings_blocks import settings_blocks
from perftui.tui.renderables.settings_table import setting_rows
from perftui.tui.screens.page_screen import PageScreen


class SettingsScreen(PageScreen):
    """All of them, or only those that differ or were changed."""

    BINDINGS = SETTINGS

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self._telling = False

    def heading(self) -> Line:
        """Return what the marks mean, where there is room."""
        which = " that differ or were changed" if self._telling else ""
        legend = "  ◆ by perftui  ≠ ranks differ  ✖ failed"
        return line(Run("settings in force", "title"), Run(f"{which}{legend}", "dim"))

    def _asked(self) -> dict[str, SettingValue]:
        return dict(self.state.header.settings) if self.state.header else {}

    def blocks(self, width: int) -> Sequence[Block]:
        """Return one line a setting."""
        asked, key = self._asked(), self.state.keys["differing"]
        return settings_blocks(self.state.ranks, asked, width, telling=self._telling, key=key)

    def action_telling(self) -> None:
        """Leave out what all ranks have and nobody changed, or show it again."""
        self._telling = not self._telling
        self.draw_page()

    def action_copy(self) -> None:
        """Copy the chosen line as NAME=VALUE."""
        rows = setting_rows(self.state.ranks, self._asked())
        row = next((row for row in rows if row.name == self.page.key), None)
        self.post_message(TextCopied(f"{row.name}={row.value}" if row else None, "setting"))
