"""Every key of the dashboard in one table: what it does, in the footer's word and in a sentence.

The ids are the names by which a person's configuration gives an action other keys: what does the same on
several screens has one id on all of them. `key_contexts` says which tables are in force together.
"""

from textual.binding import Binding, BindingType

from perftui.tui.pages import PAGES


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


def _quiet(id: str, keys: str, action: str, word: str, tooltip: str, *, at_once: bool = False) -> BindingType:
    return _key(id, keys, action, word, tooltip, shown=False, at_once=at_once)


_FAR = 1_000_000
"""Beyond the end of anything."""
_RECORD = "Record 3 steps of the live run on all ranks; or end what is open (asks)"
_ALL = "All actions by name, to type or to click"
_CHOOSE = "Choose what a profiling window records, how many steps, and whose trace is kept"
_END = "End the open profiling window without a result (asks first)"
_BACK = "While frozen: a moment back (about 1 s); in a replay 10 s, paused 1 s"
_FASTER = "Play a replay faster: 0.5 to 32 times as fast as it happened"
_PROFILE = _key("profile", "p", "app.profile", "profile", _RECORD)
TIME: list[BindingType] = [
    _key("time-back", "left", "app.step_time(-1)", "time", _BACK, display="←→", at_once=True),
    _quiet("time-on", "right", "app.step_time(1)", "on in time", "Frozen: a moment on", at_once=True),
    _quiet("time-far-back", "shift+left", "app.step_time(-10)", "far back", "Ten moments back", at_once=True),
    _quiet("time-far-on", "shift+right", "app.step_time(10)", "far on", "Ten moments on", at_once=True),
    _quiet("time-newest", "end", "app.newest", "newest", "Frozen: live again; replay: its end", at_once=True),
    _key("faster", "right_square_bracket", "app.faster(1)", "speed", _FASTER, display="[]", at_once=True),
    _quiet("slower", "left_square_bracket", "app.faster(-1)", "slower", "Play a replay slower", at_once=True),
]
"""In force while the picture is frozen, and in a replay; else a screen's own table says what they mean."""
ANYWHERE: list[BindingType] = [
    _key("palette", "ctrl+p", "app.command_palette", "all", _ALL, display="^p"),
    _quiet("repaint", "ctrl+l", "app.repaint", "repaint", "Paint the screen anew"),
    _quiet(
        "screenshot", "ctrl+s", "app.save_screen", "screenshot", "Write this screen to a new file, as SVG"
    ),
    _quiet(
        "suspend", "ctrl+z", "app.suspend_process", "suspend", "To the shell; `fg` brings this screen back"
    ),
]
"""In every app, and over every question too."""
EVERYWHERE: list[BindingType] = [
    *TIME,
    _key("help", "question_mark", "help", "help", "All keys and words", display="?"),
    _key("detach", "q", "detach", "detach", "Leave the dashboard; the training goes on"),
    *ANYWHERE,
]
_FREEZE = _key(
    "freeze",
    "space",
    "app.freeze",
    "freeze",
    "Freeze the picture, to go back in time by ←→; or let it go on; in a replay, pause",
    display="space",
)


def _pages(*, shown: bool) -> list[BindingType]:
    """Return the keys that open a page: in the footer of the overview, quiet on the pages themselves."""
    return [
        _key(
            page.name,
            page.key,
            f"app.page('{page.name}')",
            page.name,
            page.about,
            shown=shown and not page.quiet,
        )
        for page in PAGES
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
    _key("rank", "enter", "open_rank", "rank", "All about the chosen rank", display="enter"),
    _key("windows", "w", "app.windows", "profiles", "Show the profiles taken so far"),
    _FREEZE,
    _quiet("next", "tab", "app.focus_next", "next panel", "Go to the next panel"),
    _quiet("previous", "shift+tab", "app.focus_previous", "previous panel", "Go to the panel before"),
    _quiet("up", "up,k", "vertical(-1)", "up", "Choose the rank above, or scroll up"),
    _quiet("down", "down,j", "vertical(1)", "down", "Choose the rank below, or scroll down"),
    _quiet("left", "left", "sideways(-1)", "left", "Choose the rank before"),
    _quiet("right", "right", "sideways(1)", "right", "Choose the next rank"),
    _quiet("rank-before", "h", "rank(-1)", "rank before", "Choose the rank before"),
    _quiet("rank-after", "l", "rank(1)", "rank after", "Choose the next rank"),
    _quiet("first", "home,g", "edge(-1)", "first rank", "Choose the first rank"),
    _quiet("last", "G", "edge(1)", "last rank", "Choose the last rank"),
    _quiet("page-up", "pageup,ctrl+u", "page(-1)", "page up", "Scroll a page up"),
    _quiet("page-down", "pagedown,ctrl+d", "page(1)", "page down", "Scroll a page down"),
    _quiet("sort", "greater_than_sign", "sort(1)", "sort", "Sort many ranks by the next column"),
    _quiet("sort-back", "less_than_sign", "sort(-1)", "sort left", "Sort them by the column before"),
    _quiet("invert", "v", "invert", "invert", "Turn the order of the ranks round"),
    _quiet("follow", "end", "follow", "newest output", "Follow the newest line of the output again"),
]
MOVES: list[BindingType] = [
    _quiet("down", "down,j", "move(1)", "down", "Choose the next one"),
    _quiet("up", "up,k", "move(-1)", "up", "Choose the one before"),
    _quiet("page-down", "pagedown,ctrl+d", "turn(1)", "page down", "A page down"),
    _quiet("page-up", "pageup,ctrl+u", "turn(-1)", "page up", "A page up"),
    _quiet("first", "home,g", "end(-1)", "first", "Go to the first one"),
    _quiet("last", "end,G", "end(1)", "last", "Go to the last one"),
]
PAGE: list[BindingType] = [
    _key("back", "escape,q", "app.pop_screen", "back", "Back to the overview", display="esc"),
    *MOVES,
    *_pages(shown=False),
    _quiet("windows", "w", "app.windows", "profiles", "Show the profiles taken so far"),
    _quiet("freeze", "space", "app.freeze", "freeze", "Freeze the picture, or pause a replay"),
]
FINDINGS: list[BindingType] = [
    _key("propose", "enter", "propose", "relaunch", "Relaunch with its remedy (asks first)", display="enter"),
    _key("copy", "c", "copy", "copy", "Copy the finding to the clipboard"),
    _key("copy-command", "y", "copy_command", "copy command", "Copy the command that relaunches with it"),
    _PROFILE,
    *PAGE,
]
HOSTS: list[BindingType] = [*PAGE]
LEDGER: list[BindingType] = [
    _key("ledger-open", "enter", "open", "details", "Show all about it, or fold it up", display="enter"),
    _key("sort", "greater_than_sign", "sort(1)", "sort", "Sort by the next column", display="<>"),
    _quiet("sort-back", "less_than_sign", "sort(-1)", "sort left", "Sort by the column before"),
    _key("invert", "v", "invert", "invert", "Turn the order round"),
    _key("ledger-all", "a", "all", "all/this", "All experiments of this host, or only those of this run"),
    _key("copy", "c", "copy", "copy", "Copy the command that starts it with this change to the clipboard"),
    *PAGE,
]
SETTINGS: list[BindingType] = [
    _key("differing", "d", "telling", "differing", "Only what differs or was changed, or all"),
    _key("copy", "c", "copy", "copy", "Copy the line to the clipboard"),
    *PAGE,
]


_STRETCH: list[BindingType] = [
    _key("zoom-in", "plus,equals_sign", "zoom(1)", "zoom", "See fewer steps, and each of them", display="+-"),
    _quiet("zoom-out", "minus", "zoom(-1)", "zoom out", "See more steps"),
    _key("zoom-all", "0", "whole", "whole run", "See all steps since the start"),
    _key("left", "left", "shift(-1)", "earlier", "Go back in the run's steps", display="←→"),
    _quiet("right", "right", "shift(1)", "later", "Go on; at the newest, follow again"),
    _quiet("earlier", "comma", "shift(-1)", "earlier steps", "Go back in the run's steps, also while frozen"),
    _quiet("later", "full_stop", "shift(1)", "later steps", "Go on in the run's steps, also while frozen"),
]
"""Which steps a history shows."""
_OF_TUNE: list[BindingType] = [
    _key("tune-open", "enter", "open", "details", "Show all about it, or fold it up", display="enter"),
    _key("copy", "c", "copy", "copy", "Copy the command that runs the result so far to the clipboard"),
]
TUNE: list[BindingType] = [*_OF_TUNE, *PAGE]
TUNE_ALONE: list[BindingType] = [*_OF_TUNE, *MOVES]
RANK: list[BindingType] = [
    *_STRETCH,
    _key("rank-after", "l", "rank(1)", "rank", "Show the next rank", display="hl"),
    _quiet("rank-before", "h", "rank(-1)", "rank before", "Show the rank before"),
    *PAGE,
]
RANKS: list[BindingType] = [
    _key("rank", "enter", "open", "rank", "All about the latest rank of the row", display="enter"),
    *_STRETCH,
    _key(
        "measure",
        "v",
        "measure",
        "measure",
        "Compare waits for the loader, what comes before the exchange, or whole steps",
    ),
    *PAGE,
]
OUTPUT: list[BindingType] = [
    _key("find", "slash", "find", "find", "Find words in the output", display="/", at_once=True),
    _key("match-after", "n", "match(1)", "next", "Go to the next place", display="n"),
    _key("match-before", "N", "match(-1)", "before", "Go to the place before", display="N"),
    _key("follow", "end,G", "follow", "follow", "Follow the newest line", display="end"),
    _key("wrap", "z", "wrap", "wrap", "Break long lines, or cut them"),
    _key("back", "escape,q", "app.pop_screen", "back", "Back to the overview", display="esc"),
    _quiet("down", "down,j", "scroll(1)", "down", "A line down"),
    _quiet("up", "up,k", "scroll(-1)", "up", "A line up"),
    _quiet("page-down", "pagedown,ctrl+d", "turn(1)", "page down", "A page down"),
    _quiet("page-up", "pageup,ctrl+u", "turn(-1)", "page up", "A page up"),
    _quiet("first", "home,g", "first", "first line", "Go to the oldest line that is kept"),
    *_pages(shown=False),
    _quiet("windows", "w", "app.windows", "profiles", "Show the profiles taken so far"),
    _quiet("freeze", "space", "app.freeze", "freeze", "Freeze the picture, or pause a replay"),
]
PROFILE: list[BindingType] = [
    _quiet("profile", "p", "app.profile", "profile", _RECORD),
    _quiet("profile-choose", "P", "app.choose_profile", "profile …", _CHOOSE),
    _key("profile-end", "c", "app.end_profile", "cancel", _END),
    _key("back", "escape,q", "app.pop_screen", "back", "Back to the overview", display="esc"),
    _quiet("windows", "w", "app.windows", "profiles", "Close the profiles"),
    _quiet("older", "left_square_bracket", "window(-1)", "older", "Show the window before"),
    _quiet("newer", "right_square_bracket", "window(1)", "newer", "Show the next window"),
]
TRACE: list[BindingType] = [
    _key("next", "tab", "part(1)", "next", "Go to the next table"),
    _quiet("previous", "shift+tab", "part(-1)", "table before", "Go to the table before"),
    _quiet("rank-after", "l,right", "rank(1)", "rank", "Show the next rank"),
    _quiet("rank-before", "h,left", "rank(-1)", "rank before", "Show the rank before"),
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
    _quiet("down", "down,j", "move(1)", "row", "Cursor down"),
    _quiet("up", "up,k", "move(-1)", "row above", "Cursor up"),
    _quiet("page-down", "pagedown,ctrl+d", "page(1)", "page down", "A page down"),
    _quiet("page-up", "pageup,ctrl+u", "page(-1)", "page up", "A page up"),
    _quiet("first", "home,g", "end(-1)", "first row", "Go to the first row"),
    _quiet("last", "end,G", "end(1)", "last row", "Go to the last row"),
    _key(
        "expand",
        "enter",
        "expand",
        "open",
        "Expand the row: its whole name, shapes, callers; or fold it up",
        display="enter",
    ),
    _key(
        "sort",
        "greater_than_sign",
        "sort_column(1)",
        "sort",
        "Sort by the next column",
        display="<>",
    ),
    _quiet("sort-back", "less_than_sign", "sort_column(-1)", "sort left", "Sort by the column before"),
    _quiet("invert", "i", "invert", "invert", "Turn the order round"),
    *(
        _quiet(f"sort-{n}", str(n), f"sort_number({n})", f"sort by column {n}", f"Sort by column {n}")
        for n in range(1, 10)
    ),
]
TIMELINE: list[BindingType] = [
    _key("right", "right", "scroll_time(1)", "go", "Scroll on in time", display="←→"),
    _quiet("left", "left", "scroll_time(-1)", "scroll back", "Scroll back in time"),
    _key("zoom-in", "plus,equals_sign", "zoom(1)", "zoom", "Zoom in on the cursor", display="+-"),
    _quiet("zoom-out", "minus", "zoom(-1)", "zoom out", "Zoom out"),
    _quiet("zoom-all", "0", "whole", "whole window", "Show the whole window"),
    _quiet("down", "down,j", "lane(1)", "line", "Go to the line below"),
    _quiet("up", "up,k", "lane(-1)", "line above", "Go to the line above"),
    _quiet("page-down", "pagedown,ctrl+d", "lane(10)", "lines down", "Ten lines down"),
    _quiet("page-up", "pageup,ctrl+u", "lane(-10)", "lines up", "Ten lines up"),
    _key(
        "step-after", "right_square_bracket", "step(1)", "step", "Show the next step, all of it", display="[]"
    ),
    _quiet("step-before", "left_square_bracket", "step(-1)", "step before", "Show the step before"),
    _key("span-after", "full_stop", "span(1)", "span", "Go to the next span of the line", display=",."),
    _quiet("span-before", "comma", "span(-1)", "span before", "Go to the span before"),
    _quiet("cell-on", "shift+right", "nudge(1)", "cursor right", "Move the cursor by one cell"),
    _quiet("cell-back", "shift+left", "nudge(-1)", "cursor left", "Move the cursor back by one cell"),
    _quiet("first", "home,g", "end(-1)", "beginning", "Go to the window's beginning"),
    _quiet("last", "end,G", "end(1)", "end", "Go to the window's end"),
    _key("tell", "enter", "tell", "tell", "Tell all about the span under the cursor", display="enter"),
]
FILTER: list[BindingType] = [
    _key(
        "filter-done", "enter,down", "done", "keep", "Keep the filter, go back to the rows", display="enter"
    ),
    _key("filter-clear", "escape", "clear", "clear", "Look for nothing: show all again", display="esc"),
]
EXPORT: list[BindingType] = [
    _key("export-csv", "c", "choose('csv')", "CSV", "Write single values as CSV"),
    _key("export-json", "j", "choose('json')", "JSON", "Write everything as JSON"),
    _key("no", "escape,n,q", "cancel", "neither", "Close this; nothing is written", display="esc"),
]
ALONE: list[BindingType] = [
    _key("help", "question_mark", "help", "help", "All keys and words", display="?"),
    _key("leave", "q", "leave", "leave", "Leave", display="q"),
    *ANYWHERE,
]
"""Of an app that shows a trace or a search, without a run."""
SHEET: list[BindingType] = [
    _quiet("up", "up,k", "scroll_sheet(-1)", "up", "Scroll up"),
    _key("down", "down,j", "scroll_sheet(1)", "scroll", "Scroll down", display="↑↓"),
    _quiet("page-up", "pageup,ctrl+u", "scroll_sheet(-15)", "page up", "A page up"),
    _quiet("page-down", "pagedown,ctrl+d", "scroll_sheet(15)", "page down", "A page down"),
    _quiet("first", "home,g", f"scroll_sheet({-_FAR})", "beginning", "Go to the beginning"),
    _quiet("last", "end,G", f"scroll_sheet({_FAR})", "end", "Go to the end"),
    *ANYWHERE,
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
    _key("no", "escape,n,q", "cancel", "keep this run", "Close this; nothing happens", display="esc/n"),
    *SHEET,
]
CONFIRMATION: list[BindingType] = [
    _key("confirm-yes", "y", "answer(True)", "yes", "Do what stands here"),
    _key(
        "no",
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
    _key("down", "down,j", "row(1)", "choose", "Go to the next row", display="↑↓"),
    _quiet("up", "up,k", "row(-1)", "row above", "Go to the row above"),
    _quiet("next", "tab", "row(1)", "next row", "Go to the next row"),
    _quiet("previous", "shift+tab", "row(-1)", "row before", "Go to the row above"),
    _key("right", "right,l,space", "change(1)", "change", "Take the next value", display="←→"),
    _quiet("left", "left,h", "change(-1)", "value before", "Take the value before"),
    _key("no", "escape,n,q", "cancel", "no window", "Close this; nothing happens", display="esc"),
    *SHEET[2:],
]
FACTS: list[BindingType] = [
    _key("back", "escape,q,enter", "cancel", "back", "Close this", display="esc"),
    *SHEET,
]
HELP: list[BindingType] = [
    _key("back", "escape,q", "cancel", "back", "Close the help", display="esc"),
    _quiet("help", "question_mark", "cancel", "back", "Close the help"),
    _key("words", "w", "words", "words", "Go to what the words of the screen mean"),
    *SHEET,
]
PICKER: list[BindingType] = [
    _key("pick", "enter", "choose", "attach", "Open the dashboard of this run", display="enter"),
    _key("down", "down,j", "move(1)", "run", "Next run", display="↑↓"),
    _quiet("up", "up,k", "move(-1)", "run above", "Run above"),
    _quiet("page-down", "pagedown,ctrl+d", "move(10)", "page down", "Ten runs down"),
    _quiet("page-up", "pageup,ctrl+u", "move(-10)", "page up", "Ten runs up"),
    _quiet("first", "home,g", f"move({-_FAR})", "first run", "Go to the first run"),
    _quiet("last", "end,G", f"move({_FAR})", "last run", "Go to the last run"),
    _key("help", "question_mark", "help", "help", "All keys and words", display="?"),
    _key("leave", "escape,q", "leave", "leave", "Leave without attaching", display="q"),
    *ANYWHERE,
]
