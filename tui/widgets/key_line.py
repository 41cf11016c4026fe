"""The keys of a screen in one line, the most needed where not all fit; a click on one presses it.

The framework's footer cuts off its last keys, which are help and the way out; and it is a widget a key.
"""

from collections.abc import Sequence

from textual import events
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

from perftui.tui.glyphs import Glyphs
from perftui.tui.key_contexts import bindings_of
from perftui.tui.key_map import display
from perftui.tui.renderables.lines import Line, Run, line, width_of
from perftui.tui.screens.run_screen import RunScreen
from perftui.tui.widgets.picture import Picture, app_of

_AT_THE_END = ("time-back", "back", "help", "detach", "leave")
"""Ids of keys that stand at the end."""
_ALWAYS = ("no", "filter-clear", *_AT_THE_END)
"""Ids of keys that have their place before all others: a question always offers the way out of it."""
_ONLY_WITH = {"relaunch-at-once": "relaunch-yes"}
"""Ids of keys that are not offered without another, which is the better choice."""


class KeyLine(Picture):
    """Shows the keys that are in force and meant to be shown, in the order of the screen's table."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs, id="keys")
        self._places: list[tuple[range, Binding, DOMNode]] = []

    def on_mount(self) -> None:
        """Follow what is in force."""
        super().on_mount()
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, _screen: Screen[object]) -> None:
        self.call_after_refresh(self.redraw)

    def draw(self) -> Sequence[Line]:
        """Draw as many as fit."""
        keys = self._keys()
        words = self._fitting([binding for binding, _ in keys])
        drawn: list[Run] = []
        self._places = []
        for binding, node in sorted(keys, key=lambda key: key[0].id in _AT_THE_END):
            shown = words.get(binding.id or binding.key)
            if shown is not None:
                begin = width_of(tuple(drawn))
                drawn += [*_entry(binding, shown), Run(" ")]
                self._places.append((range(begin, width_of(tuple(drawn))), binding, node))
        return [tuple(drawn[:-1])]  # a space after the last key may be one too many

    def _fitting(self, bindings: Sequence[Binding]) -> dict[str, str]:
        """Return the words of the keys that fit, by id; longer ones where room is left."""
        room = self.size.width + 1
        words: dict[str, str] = {}
        for binding in sorted(bindings, key=lambda each: each.id not in _ALWAYS):
            told = self._words(binding)[0]
            width = width_of(_entry(binding, told)) + 1
            alone = _ONLY_WITH.get(binding.id or "", binding.id) not in {*words, binding.id}
            if width <= room and not alone:
                room -= width
                words[binding.id or binding.key] = told
        for binding in bindings if len(words) == len(bindings) else ():
            name, told = binding.id or binding.key, self._words(binding)[-1]
            longer = len(told) - len(words[name])
            if longer <= room:
                room -= longer
                words[name] = told
        return words

    def _words(self, binding: Binding) -> tuple[str, ...]:
        """Return what stands behind a key, the shortest words first; empty: it is not offered."""
        screen = self.screen
        return screen.key_words(binding) if isinstance(screen, RunScreen) else (binding.description,)

    def _keys(self) -> list[tuple[Binding, DOMNode]]:
        """Return one entry an action in the tables' order, in which the framework does not keep own keys."""
        found: dict[str, tuple[Binding, DOMNode]] = {}
        nodes: list[DOMNode] = []
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if active.node not in nodes:
                nodes.append(active.node)
            if binding.show and active.enabled and self._words(binding):
                found.setdefault(binding.id or binding.key, (binding, active.node))
        order = [(node, each.id) for node in nodes for each in bindings_of([node.BINDINGS])]
        return sorted(
            found.values(),
            key=lambda entry: (
                order.index(place) if (place := (entry[1], entry[0].id)) in order else len(order)
            ),
        )

    async def on_click(self, event: events.Click) -> None:
        """Do what the key does."""
        for place, binding, node in self._places:
            if event.x in place:
                await app_of(self).run_action(binding.action, node)
                return


def _entry(binding: Binding, words: str) -> Line:
    return line(Run(display(binding), "key"), Run(f" {words}", "dim"))
