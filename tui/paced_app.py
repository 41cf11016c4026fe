"""An app whose pictures come as fast as its terminal takes them: the newest wins, and keys never wait."""

from collections.abc import Callable
from typing import TypeVar

from rich.console import RenderableType
from textual._compositor import LayoutUpdate
from textual.app import App
from textual.driver import Driver
from textual.screen import Screen
from textual.timer import Timer

from perftui.tui.pace import slow_s
from perftui.tui.terminal_driver import TerminalDriver

_Result = TypeVar("_Result")
_LOOK_AGAIN_S = 0.05
"""While a picture is on its way to the terminal, and another waits."""
_SETTLES_S = 0.04
"""A new page is painted blank, then laid out, filled and all painted again: sent once, not three times."""


class PacedApp(App[_Result]):
    """Pictures that follow the run go through `when_due`; what a key asks for is painted at once."""

    _waiting: Callable[[], None] | None = None
    _looking: Timer | None = None
    _settling: Timer | None = None

    def get_driver_class(self) -> type[Driver]:
        """Have a driver that a slow terminal does not hold up."""
        return TerminalDriver

    @property
    def slow_s(self) -> int | None:
        """In how many seconds the terminal is given one picture, where that is slower than there is news."""
        return slow_s(self._driver.delivery.pace) if isinstance(self._driver, TerminalDriver) else None

    def when_due(self, paint: Callable[[], None]) -> None:
        """Call `paint` once the terminal can take another picture; of several, only the newest."""
        self._waiting = paint
        if self._looking is None:
            self._paint_if_due()

    def _paint_if_due(self) -> None:
        driver, self._looking = self._driver, None
        waits_s = driver.wait_s() if isinstance(driver, TerminalDriver) else 0.0
        if waits_s > 0:
            self._looking = self.set_timer(min(waits_s, _LOOK_AGAIN_S), self._paint_if_due)
        elif self._waiting is not None:
            paint, self._waiting = self._waiting, None
            paint()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """Paint a part at once; the whole screen once it has settled, and the terminal takes anything."""
        driver = self._driver
        if renderable is None or not isinstance(driver, TerminalDriver):
            super()._display(screen, renderable)
        elif self._settling is not None:
            return  # it will be painted with the rest
        elif driver.stuck or _is_whole(renderable, screen):
            self._settling = self.set_timer(_SETTLES_S, self._paint_whole)
        else:
            with driver.picture():
                super()._display(screen, renderable)

    def _paint_whole(self) -> None:
        """Paint what the screen shows now."""
        driver, self._settling = self._driver, None
        if not isinstance(driver, TerminalDriver):
            return
        if driver.stuck:
            self._settling = self.set_timer(_LOOK_AGAIN_S, self._paint_whole)
            return
        compositor, behind = self.screen._compositor, self._background_screens
        with driver.picture():
            super()._display(self.screen, compositor.render_update(full=True, screen_stack=behind))

    def left_clean(self) -> bool:
        """Whether the terminal has taken all that gives it back."""
        return not isinstance(self._driver, TerminalDriver) or self._driver.left_clean

    def repaint_on_return(self) -> None:
        """Paint everything once the app is in the foreground again."""
        self.app_resume_signal.subscribe(self, self._returned)

    def _returned(self, _app: App[object]) -> None:
        self.refresh(layout=True)
        self.screen.refresh(layout=True)


def _is_whole(renderable: RenderableType, screen: Screen[object]) -> bool:
    return isinstance(renderable, LayoutUpdate) and renderable.region.size == screen.size
