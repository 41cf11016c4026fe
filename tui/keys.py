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
    at_once: bool = False,
) -> BindingType:
    """Return a binding; `at_once`: done before the next key is looked at, whose meaning it changes."""
    return Binding(
        keys, action, word, show=shown, key_display=display, tooltip=tooltip, id=id, priority=at_once
    )


def _quiet(id: str, keys: str, action: str, word: str, tooltip: str) -> BindingType:
    return _key(id, keys, action, word, tooltip, shown=False)


_RECORD = "Record 3 steps of the live run on all ranks; or end what is open (asks)"
_CHOOSE = "Choose what a profiling window records, how many steps, and whose trace is kept"
_END = "End the open profiling window without a result (asks first)"
_PROFILE = _key("profile", "p", "app.profile", "profile", _RECORD)
EVERYWHERE: list[BindingType] = [
    _key("help", "question_mark", "help", "help", "All keys and words", display="?"),
    _key("detach", "q", "detach", "detach", "Leave the dashboard; the training goes on"),
    _quiet("repaint", "ctrl+l", "repaint", "repaint", "Paint the screen anew"),
]
_FREEZE = _key(
    "freeze",
    "space",
    "app.freeze",
    "freeze",
    "Freeze the picture or let it go on; in a replay, pause",
    display="space",
)


def _pages(*, shown: bool) -> list[BindingType]:
    """Return the keys that open a page: in the footer of the overview, quiet on the pages themselves."""
    of = (
        ("findings", "f", "All findings with their evidence, and what could not be judged"),
        ("output", "o", "The training's output, to be searched"),
        ("ledger", "e", "Experiments: what was changed so far, measured how, and what came of it"),
        ("settings", "i", "Settings in force on each rank, as read back from it"),
    )
    return [
        *(_key(name, key, f"app.page('{name}')", name, text, shown=shown) for name, key, text in of),
        _quiet("hosts", "m", "app.page('hosts')", "hosts", "The machines of the run: links, clocks, load"),
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
    _quiet("profile-choose", "P", "app.choose_profile", "profile …", _CHOOSE),
    _quiet("profile-end", "c", "app.end_profile", "end the window", _END),
    *_pages(shown=True),
    _key("rank-detail", "enter", "open_rank", "rank", "All about the chosen rank", display="enter"),
    _key("windows", "w", "app.windows", "profiles", "Show the profiles taken so far"),
    _FREEZE,
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
PAGE: list[BindingType] = [
    _key("back", "escape,q", "app.pop_screen", "back", "Back to the overview", display="esc"),
    _quiet("page-step-down", "down,j", "move(1)", "down", "Choose the next one"),
    _quiet("page-step-up", "up,k", "move(-1)", "up", "Choose the one before"),
    _quiet("page-turn", "pagedown", "turn(1)", "page down", "A page down"),
    _quiet("page-turn-back", "pageup", "turn(-1)", "page up", "A page up"),
    _quiet("page-first", "home", "end(-1)", "first", "Go to the first one"),
    _quiet("page-last", "end", "end(1)", "last", "Go to the last one"),
    *_pages(shown=False),
    _quiet("page-windows", "w", "app.windows", "profiles", "Show the profiles taken so far"),
    _quiet("page-freeze", "space", "app.freeze", "freeze", "Freeze the picture, or pause a replay"),
]
FINDINGS: list[BindingType] = [
    _key("propose", "enter", "propose", "relaunch", "Relaunch with its remedy (asks first)", display="enter"),
    _key("copy", "c", "copy", "copy", "Copy the finding to the clipboard, by OSC 52"),
    _key("copy-command", "y", "copy_command", "copy command", "Copy the command that relaunches with it"),
    _quiet("findings-profile", "p", "app.profile", "profile", _RECORD),
    *PAGE,
]
HOSTS: list[BindingType] = [*PAGE]
LEDGER: list[BindingType] = [
    _key("ledger-open", "enter", "open", "details", "Show all about it, or fold it up", display="enter"),
    _key("ledger-sort", "greater_than_sign", "sort(1)", "sort", "Sort by the next column", display="<>"),
    _quiet("ledger-sort-back", "less_than_sign", "sort(-1)", "sort left", "Sort by the column before"),
    _key("ledger-invert", "v", "invert", "invert", "Turn the order round"),
    _key("ledger-all", "a", "all", "all/this", "All experiments of this host, or only those of this run"),
    _key("ledger-copy", "c", "copy", "copy", "Copy the command that starts it with this change, by OSC 52"),
    *PAGE,
]
SETTINGS: list[BindingType] = [
    _key("settings-telling", "d", "telling", "differing", "Only what differs or was changed, or all"),
    _key("settings-copy", "c", "copy", "copy", "Copy the line, by OSC 52"),
    *PAGE,
]
RANK: list[BindingType] = [
    _key(
        "rank-zoom", "plus,equals_sign", "zoom(1)", "zoom", "See fewer steps, and each of them", display="+-"
    ),
    _quiet("rank-zoom-out", "minus", "zoom(-1)", "zoom out", "See more steps"),
    _key("rank-whole", "0", "whole", "whole run", "See all steps since the start"),
    _key("rank-earlier", "left", "shift(-1)", "earlier", "Go back in the run's steps", display="←→"),
    _quiet("rank-later", "right", "shift(1)", "later", "Go on; at the newest, follow again"),
    _key("rank-next", "l", "rank(1)", "rank", "Show the next rank", display="hl"),
    _quiet("rank-previous", "h", "rank(-1)", "rank before", "Show the rank before"),
    *PAGE,
]
OUTPUT: list[BindingType] = [
    _key("output-find", "slash", "find", "find", "Find words in the output", display="/", at_once=True),
    _key("output-next", "n", "match(1)", "next", "Go to the next place", display="n"),
    _key("output-before", "N", "match(-1)", "before", "Go to the place before", display="N"),
    _key("output-follow", "end", "follow", "follow", "Follow the newest line", display="end"),
    _key("output-wrap", "z", "wrap", "wrap", "Break long lines, or cut them"),
    _key("back", "escape,q", "app.pop_screen", "back", "Back to the overview", display="esc"),
    _quiet("output-down", "down,j", "scroll(1)", "down", "A line down"),
    _quiet("output-up", "up,k", "scroll(-1)", "up", "A line up"),
    _quiet("output-page", "pagedown", "turn(1)", "page down", "A page down"),
    _quiet("output-page-up", "pageup", "turn(-1)", "page up", "A page up"),
    _quiet("output-first", "home", "first", "first line", "Go to the oldest line that is kept"),
    *_pages(shown=False),
    _quiet("output-windows", "w", "app.windows", "profiles", "Show the profiles taken so far"),
    _quiet("output-freeze", "space", "app.freeze", "freeze", "Freeze the picture, or pause a replay"),
]
PROFILE: list[BindingType] = [
    _quiet("profile-again", "p", "app.profile", "profile", _RECORD),
    _quiet("profile-choose-again", "P", "app.choose_profile", "profile …", _CHOOSE),
    _key("profile-end-here", "c", "app.end_profile", "cancel", _END),
    _key("back", "escape,w,q", "app.pop_screen", "back", "Back to the overview", display="esc"),
    _quiet("older", "left_square_bracket", "window(-1)", "older", "Show the window before"),
    _quiet("newer", "right_square_bracket", "window(1)", "newer", "Show the next window"),
]
TRACE: list[BindingType] = [
    _key("part", "tab", "part(1)", "next", "Go to the next table"),
    _quiet("part-before", "shift+tab", "part(-1)", "table before", "Go to the table before"),
    _quiet("rank-more", "l,right", "rank(1)", "rank", "Show the next rank"),
    _quiet("rank-less", "h,left", "rank(-1)", "rank before", "Show the rank before"),
    _key(
        "find", "slash", "find", "find", "Show only rows with the words you type", display="/", at_once=True
    ),
    _key("timeline", "t", "timeline", "time", "Show the timeline, at the row under the cursor"),
    _key("difference", "d", "difference", "diff", "What changed since the window before, or the marked one"),
    _quiet("mark", "m", "mark", "mark", "Compare other windows with this one"),
    _key("export", "e", "export", "save", "Write the table to a file, as CSV or JSON (asks which)"),
    _key("file", "o", "file", "file", "Where the trace is, and how to open it in Perfetto"),
]
TRACE_TABLE: list[BindingType] = [
    _quiet("row-down", "down,j", "move(1)", "row", "Cursor down"),
    _quiet("row-up", "up,k", "move(-1)", "row above", "Cursor up"),
    _quiet("rows-down", "pagedown", "page(1)", "page down", "A page down"),
    _quiet("rows-up", "pageup", "page(-1)", "page up", "A page up"),
    _quiet("row-first", "home", "end(-1)", "first row", "Go to the first row"),
    _quiet("row-last", "end", "end(1)", "last row", "Go to the last row"),
    _key(
        "expand",
        "enter",
        "expand",
        "open",
        "Expand the row: its whole name, shapes, callers; or fold it up",
        display="enter",
    ),
    _key(
        "sort-right",
        "greater_than_sign",
        "sort_column(1)",
        "sort",
        "Sort by the next column",
        display="<>",
    ),
    _quiet("sort-left", "less_than_sign", "sort_column(-1)", "sort left", "Sort by the column before"),
    _quiet("invert", "i", "invert", "invert", "Turn the order round"),
    *(
        _quiet(f"sort-{n}", str(n), f"sort_number({n})", f"sort by column {n}", f"Sort by column {n}")
        for n in range(1, 10)
    ),
]
TIMELINE: list[BindingType] = [
    _key("time-on", "right", "scroll_time(1)", "go", "Scroll on in time", display="←→"),
    _quiet("time-back", "left", "scroll_time(-1)", "scroll back", "Scroll back in time"),
    _key("zoom-in", "plus,equals_sign", "zoom(1)", "zoom", "Zoom in on the cursor", display="+-"),
    _quiet("zoom-out", "minus", "zoom(-1)", "zoom out", "Zoom out"),
    _quiet("zoom-all", "0", "whole", "whole window", "Show the whole window"),
    _quiet("lane-down", "down,j", "lane(1)", "line", "Go to the line below"),
    _quiet("lane-up", "up,k", "lane(-1)", "line above", "Go to the line above"),
    _quiet("lanes-down", "pagedown", "lane(10)", "lines down", "Ten lines down"),
    _quiet("lanes-up", "pageup", "lane(-10)", "lines up", "Ten lines up"),
    _key(
        "step-after", "right_square_bracket", "step(1)", "step", "Show the next step, all of it", display="[]"
    ),
    _quiet("step-before", "left_square_bracket", "step(-1)", "step before", "Show the step before"),
    _key("span-after", "full_stop", "span(1)", "span", "Go to the next span of the line", display=",."),
    _quiet("span-before", "comma", "span(-1)", "span before", "Go to the span before"),
    _quiet("cell-on", "shift+right", "nudge(1)", "cursor right", "Move the cursor by one cell"),
    _quiet("cell-back", "shift+left", "nudge(-1)", "cursor left", "Move the cursor back by one cell"),
    _quiet("time-first", "home", "end(-1)", "beginning", "Go to the window's beginning"),
    _quiet("time-last", "end", "end(1)", "end", "Go to the window's end"),
    _key("tell", "enter", "tell", "tell", "Tell all about the span under the cursor", display="enter"),
]
FILTER: list[BindingType] = [
    _key(
        "filter-done", "enter,down", "done", "keep", "Keep the filter, go back to the rows", display="enter"
    ),
    _key("filter-clear", "escape", "clear", "all rows", "Show all rows again", display="esc"),
]
EXPORT: list[BindingType] = [
    _key("export-csv", "c", "choose('csv')", "CSV", "Write single values as CSV"),
    _key("export-json", "j", "choose('json')", "JSON", "Write everything as JSON"),
    _key("export-no", "escape,n,q", "cancel", "neither", "Close this; nothing is written", display="esc"),
]
TRACE_APP: list[BindingType] = [
    _key("help", "question_mark", "help", "help", "All keys and words", display="?"),
    _key("leave", "q", "leave", "leave", "Leave", display="q"),
    _quiet("repaint", "ctrl+l", "repaint", "repaint", "Paint the screen anew"),
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
WINDOW_CHOICE: list[BindingType] = [
    _key("window-open", "enter", "open", "record", "Open a window as it stands here", display="enter"),
    _key("window-row", "down,j,tab", "row(1)", "choose", "Go to the next row", display="↑↓"),
    _quiet("window-row-above", "up,k,shift+tab", "row(-1)", "row above", "Go to the row above"),
    _key("window-more", "right,l,space", "change(1)", "change", "Take the next value", display="←→"),
    _quiet("window-less", "left,h", "change(-1)", "value before", "Take the value before"),
    _key("window-no", "escape,n,q", "cancel", "no window", "Close this; nothing happens", display="esc"),
    *SHEET[2:],
]
FACTS: list[BindingType] = [
    _key("facts-back", "escape,q,enter", "cancel", "back", "Close this", display="esc"),
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
