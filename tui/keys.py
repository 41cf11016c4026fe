"""Every key of the dashboard in one table: what it does, in the footer's word and in a sentence.

The ids are what a person's own key map will name.
"""

from textual.binding import Binding, BindingType


def _key(
    id: str,
    keys: str,
    action: str,
    word: str,
    tooltip: str,
    *,
    shown: bool = True,
    display: str | None = None,
) -> BindingType:
    return Binding(keys, action, word, show=shown, key_display=display, tooltip=tooltip, id=id)


def _quiet(id: str, keys: str, action: str, word: str, tooltip: str) -> BindingType:
    return _key(id, keys, action, word, tooltip, shown=False)


_PROFILE = _key("profile", "p", "app.profile", "profile", "Record 3 steps of the live run on all ranks")
EVERYWHERE: list[BindingType] = [
    _key("help", "question_mark", "help", "help", "All keys and words", display="?"),
    _key("detach", "q", "detach", "detach", "Leave the dashboard; the training goes on"),
    _quiet("repaint", "ctrl+l", "repaint", "repaint", "Paint the screen anew"),
]
OVERVIEW: list[BindingType] = [
    _PROFILE,
    _key("relaunch", "r", "app.relaunch", "relaunch", "Propose the leading finding's remedy (asks first)"),
    _key("stop", "s", "app.stop", "stop", "Stop the training (asks first)"),
    _key(
        "close",
        "x",
        "app.close_relaunch",
        "close",
        "Close the verdict; while it is being measured, give up (asks first)",
    ),
    _key("windows", "w", "app.windows", "profiles", "Show the profiles taken so far"),
    _key(
        "output",
        "o",
        "large_output",
        "output",
        "Give the training's output all the room, or take it back",
    ),
    _key(
        "freeze",
        "f,space",
        "app.freeze",
        "freeze",
        "Freeze the picture or let it go on; in a replay, pause",
        display="f",
    ),
    _quiet("next", "tab", "app.focus_next", "next panel", "Go to the next panel"),
    _quiet("previous", "shift+tab", "app.focus_previous", "previous panel", "Go to the panel before"),
    _quiet("up", "up,k", "vertical(-1)", "up", "Choose the rank above, or scroll up"),
    _quiet("down", "down,j", "vertical(1)", "down", "Choose the rank below, or scroll down"),
    _quiet("left", "left", "sideways(-1)", "left", "Choose the rank before; in a replay, go 10 s back"),
    _quiet("right", "right", "sideways(1)", "right", "Choose the next rank; in a replay, go 10 s on"),
    _quiet("rank-before", "h", "rank(-1)", "rank before", "Choose the rank before"),
    _quiet("rank-after", "l", "rank(1)", "rank after", "Choose the next rank"),
    _quiet("page-up", "pageup", "page(-1)", "page up", "Scroll a page up"),
    _quiet("page-down", "pagedown", "page(1)", "page down", "Scroll a page down"),
    _quiet("follow", "end", "follow", "newest output", "Follow the newest line of the output again"),
]
PROFILE: list[BindingType] = [
    _PROFILE,
    _key("back", "escape,w,q", "app.pop_screen", "back", "Back to the overview", display="esc"),
    _key("part", "tab", "part(1)", "next table", "Operators, kernels, ranks: go to the next table"),
    _quiet("part-before", "shift+tab", "part(-1)", "table before", "Go to the table before"),
    _key("rank-more", "right,l", "rank(1)", "rank", "Show the next rank's tables", display="←→"),
    _quiet("rank-less", "left,h", "rank(-1)", "rank before", "Show the tables of the rank before"),
    _key("row-down", "down,j", "move(1)", "row", "Cursor down", display="↑↓"),
    _quiet("row-up", "up,k", "move(-1)", "row above", "Cursor up"),
    _quiet("rows-up", "pageup", "move(-15)", "page up", "A page up"),
    _quiet("rows-down", "pagedown", "move(15)", "page down", "A page down"),
    _key("older", "left_square_bracket", "window(-1)", "older", "Show the window before", display="["),
    _key("newer", "right_square_bracket", "window(1)", "newer", "Show the next window", display="]"),
    _key("sort-share", "e", "sort('e')", "sort by", "Sort by share", display="e/u/t/c/n"),
    _quiet("sort-name", "n", "sort('n')", "by name", "Sort by name"),
    _quiet("sort-calls", "c", "sort('c')", "by calls", "Sort by number of calls"),
    _quiet("sort-self", "u", "sort('u')", "by self CPU", "Sort by CPU time of its own"),
    _quiet("sort-total", "t", "sort('t')", "by total", "Sort by total time"),
    _quiet("sort-device", "d", "sort('d')", "by GPU", "Sort by GPU time"),
    _quiet("sort-before", "b", "sort('b')", "by step before", "Sort by step time before the window"),
    _quiet("sort-after", "a", "sort('a')", "by step after", "Sort by step time after the window"),
    _quiet("sort-stall", "x", "sort('x')", "by stall", "Sort by what the window cost"),
]
SHEET: list[BindingType] = [
    _quiet("sheet-up", "up,k", "scroll_sheet(-1)", "up", "Scroll up"),
    _key("sheet-down", "down,j", "scroll_sheet(1)", "scroll", "Scroll down", display="↑↓"),
    _quiet("sheet-page-up", "pageup", "scroll_sheet(-15)", "page up", "A page up"),
    _quiet("sheet-page-down", "pagedown", "scroll_sheet(15)", "page down", "A page down"),
]
PROPOSAL: list[BindingType] = [
    _key(
        "relaunch-yes",
        "enter,y",
        "choose('trial')",
        "measure, then switch",
        "Stop this run, measure the change by trials, go on with the winner",
        display="enter/y",
    ),
    _key(
        "relaunch-at-once",
        "a",
        "choose('at-once')",
        "switch unmeasured",
        "Stop this run and start the changed one at once; the verdict is provisional",
    ),
    _key(
        "relaunch-no", "escape,n,q", "cancel", "keep this run", "Close this; nothing happens", display="esc/n"
    ),
    *SHEET,
]
CONFIRMATION: list[BindingType] = [
    _key("confirm-yes", "y", "answer(True)", "yes", "Do what stands here"),
    _key(
        "confirm-no",
        "escape,n,q,enter",
        "answer(False)",
        "no",
        "Close this; nothing happens",
        display="esc/n",
    ),
    *SHEET,
]
HELP: list[BindingType] = [
    _key("help-back", "escape,q,question_mark", "cancel", "back", "Close the help", display="esc"),
    *SHEET,
]
PICKER: list[BindingType] = [
    _key("pick", "enter", "choose", "attach", "Open the dashboard of this run", display="enter"),
    _key("pick-down", "down,j", "move(1)", "run", "Next run", display="↑↓"),
    _quiet("pick-up", "up,k", "move(-1)", "run above", "Run above"),
    _key("pick-none", "escape,q", "leave", "leave", "Leave without attaching", display="q"),
]
