"""Every key with what it does, made from the table of keys, and what the words mean."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from textual.binding import Binding, BindingType

from perftui.tui.glyphs import Glyphs
from perftui.tui.key_map import NO_CHANGE, Keys, key_names, table_with_keys
from perftui.tui.key_names import shown_key
from perftui.tui.keys import (
    ALONE,
    CONFIRMATION,
    EVERYWHERE,
    EXPORT,
    FACTS,
    FILTER,
    FINDINGS,
    HELP,
    LEDGER,
    OUTPUT,
    OVERVIEW,
    PAGE,
    PICKER,
    PROFILE,
    PROPOSAL,
    RANK,
    RANKS,
    SETTINGS,
    SHEET,
    TIMELINE,
    TRACE,
    TRACE_TABLE,
    TUNE,
    TUNE_ALONE,
    WINDOW_CHOICE,
)
from perftui.tui.renderables.lines import BLANK, Line, Run, line, plain, wrap
from perftui.tui.screens.sheet_screen import SheetScreen

Where: TypeAlias = Literal["overview", "page", "profile", "trace", "search", "picker"]
_WITHOUT_RUN = ("trace", "search", "picker")
_Group: TypeAlias = tuple[str, list[BindingType]]
_ON_SHEETS = {id(key) for key in SHEET}
_OF_OVERVIEW: _Group = ("on the overview", OVERVIEW)
_OF_TRACE: tuple[_Group, ...] = (
    ("on a profile", TRACE),
    ("in its tables", TRACE_TABLE),
    ("on its timeline", TIMELINE),
    ("while typing a filter", FILTER),
)
_OF_CHOICE: _Group = ("while choosing a window", WINDOW_CHOICE)
_OF_QUESTIONS: tuple[_Group, ...] = (
    ("on a proposal", [key for key in PROPOSAL if id(key) not in _ON_SHEETS]),
    ("on a question", [key for key in CONFIRMATION if id(key) not in _ON_SHEETS]),
    ("on an export", [key for key in EXPORT if id(key) not in _ON_SHEETS]),
    ("on a text", [key for key in FACTS if id(key) not in _ON_SHEETS]),
    ("on the help", [key for key in HELP if id(key) not in _ON_SHEETS]),
    ("on all sheets", SHEET),
)
_OF_PROFILE: tuple[_Group, ...] = (("on a profile of a run", PROFILE), *_OF_TRACE)
_ON_PAGES = {id(key) for key in PAGE}
_PAGES: tuple[_Group, ...] = (
    ("on the findings", FINDINGS),
    ("on a rank", RANK),
    ("on ranks over time", RANKS),
    ("on the ledger", LEDGER),
    ("on the settings", SETTINGS),
    ("on the tune page", TUNE),
    ("on the output", OUTPUT),
)
_OF_ALL_PAGES: _Group = ("on all pages", PAGE)
_FIRST_WORDS = "where a step goes"
_WORDS_OF_PROFILE = "words of a profile"


def _own_keys(group: _Group) -> _Group:
    """Return the keys of one page alone: what all pages have stands once."""
    return group[0], [key for key in group[1] if id(key) not in _ON_PAGES]


_OF_PAGES: tuple[_Group, ...] = (*(_own_keys(group) for group in _PAGES), _OF_ALL_PAGES)
_GAPS = (
    ("idle", "no kernel and no copy ran on the GPU"),
    ("idle: loader", "it waited for the batch: the training stood in its loader"),
    ("idle: sync call", "the host stood in a call that waits for the GPU, and had nothing launched ahead"),
    ("idle: host", "the host did something else before it launched more: Python, an operator's own work"),
    ("idle: launch", "the work was launched, and on its way to the GPU"),
    ("idle: dependency", "launched long before; it waited for another stream, an event or another rank"),
    ("alone, exposed", "not hidden under computing"),
    ("waiting, late by", "of a collective: time spent until the last rank came; how late this one came"),
    ("CPU/GPU", "the host's own time over the GPU's: above 1, the GPU waits for the host"),
    ("checks", "whether the trace can be believed; what a failed one takes away stands in its row"),
)
_PHASES = (
    ("wait", "the training stood still for its data loader"),
    ("copy to GPU", "the batch is copied to the GPU"),
    ("forward", "from the batch's arrival to the loss"),
    ("backward", "gradients are computed, from the call of backward on"),
    ("communication", "waiting for other ranks, where it is not hidden under computing"),
    ("optimizer", "the parameters are updated"),
    ("other", "what belongs to none of these: logging, checkpoints, validation"),
)
_WORDS = (
    ("step", "one update of the parameters, with all that leads to it"),
    ("rank", "one process of the training; several train together"),
    ("of the step", "share of what training steps take on the host; the measured parts sum to 100 %"),
    ("of the time", "share of all time: with validations, checkpoints and what else lies between steps"),
    ("p50, p99", "half of the steps, or 99 of 100, are faster than this"),
    ("expected, at most", "the predicted speed-up; the speed-up if the cause cost nothing at all"),
    ("launch A, B", "one start of the training, for measuring: as it is, and with the change"),
    ("SM, tensor, DRAM", "share of time that this part of the GPU works, over these steps"),
    ("kernel, GPU busy", "share of time with any kernel running, however little of the GPU it fills"),
    ("device 61 ms", "a step on the GPU's own timeline, mean of the sampled steps; parts hold idle time too"),
    ("run, others, of", "cores busy with this run, with all else, and how many the run may use"),
    ("waiting for", "share of time in which some task stood still for want of it"),
    ("throttled", "of clocks: share of time held down; of cores: share of the CPU quota's periods used up"),
    ("D state, no core", "workers waiting for a device; share of time ready without a core"),
    ("readings", "share of one core that perftui takes to read host and GPUs"),
    ("—", "never measured; a measured zero is written 0"),
)
_MARKS = (
    ("▲ !", "critical, and on the chart a step taller than the scale; a warning, or a silent rank"),
    ("● ○", "going on, or fine; waiting, or only a note"),
    ("◆ ■ ✔ ✖", "a profiling window, another event, or what perftui has set; ended; done; failed"),
    ("└ ≠ ┃", "follows from what stands above it; ranks differ; this one is chosen"),
)


class HelpScreen(SheetScreen[None]):
    """All keys and words."""

    BINDINGS = HELP

    def __init__(
        self,
        glyphs: Glyphs,
        *,
        of: Where = "overview",
        keys: Keys = NO_CHANGE,
        table: Sequence[BindingType] = (),
    ) -> None:
        name = key_names(keys)
        asking = f"{name['relaunch']}, {name['stop']}, {name['close']} and a finding's {name['propose']}"
        title = f"help: only {asking} can change the training; they ask first"
        super().__init__(glyphs, "help" if of in _WITHOUT_RUN else title)
        self._of, self._keys = of, keys
        mine = [_own_keys(group) for group in _PAGES if group[1] is table]
        all_others = [_own_keys(group) for group in _PAGES if group[1] is not table]
        self._keys_here, self._other_keys = {
            "overview": (
                [(_OF_OVERVIEW[0], [*OVERVIEW, *EVERYWHERE])],
                (_OF_CHOICE, *_OF_QUESTIONS, *_OF_PAGES, *_OF_PROFILE),
            ),
            "page": (
                [*(mine or all_others), _OF_ALL_PAGES, ("everywhere", EVERYWHERE)],
                (*(all_others if mine else ()), _OF_OVERVIEW, _OF_CHOICE, *_OF_QUESTIONS, *_OF_PROFILE),
            ),
            "profile": (
                [*_OF_PROFILE, ("everywhere", EVERYWHERE)],
                (_OF_OVERVIEW, _OF_CHOICE, *_OF_QUESTIONS, *_OF_PAGES),
            ),
            "trace": ([*_OF_TRACE, ("everywhere", ALONE)], ()),
            "search": ([("on the search", TUNE_ALONE), ("everywhere", ALONE)], ()),
            "picker": ([("on the list of runs", PICKER)], ()),
        }[of]

    def lines(self, width: int) -> Sequence[Line]:
        """Return all lines."""
        of_run = ((_FIRST_WORDS, _PHASES, "value"), ("words", _WORDS, "value"))
        of_trace = ((_WORDS_OF_PROFILE, _GAPS, "value"),)
        first = of_trace if self._of in ("profile", "trace") else of_run
        last = {"overview": of_trace, "page": of_trace, "profile": of_run}.get(self._of, ())
        words = (*first, ("marks", _MARKS, "value"))
        here, others = (self._told(self._keys_here, shown=shown) for shown in (True, False))
        parts = [*here, *words, *others, *last, *self._told(self._other_keys, shown=None)]
        drawn: list[Line] = []
        for heading, entries, role in parts:
            drawn += [*([BLANK] if drawn else []), line(Run(heading, "heading"))]
            drawn += [part for word, meaning in entries for part in _entry(word, meaning, width, role)]
        return drawn

    def action_words(self) -> None:
        """Go to what the words mean: those of the screen that the help was asked on come first."""
        width = max(1, self._sheet.size.width - 4)
        headings = [
            at
            for at, part in enumerate(self.lines(width))
            if plain(part) in (_FIRST_WORDS, _WORDS_OF_PROFILE)
        ]
        if headings:
            self._sheet.scroll_by(headings[0] - self._sheet.offset_lines)

    def _told(
        self, groups: Sequence[_Group], *, shown: bool | None
    ) -> list[tuple[str, Sequence[tuple[str, str]], str]]:
        """Return the keys that the line of keys shows, or the others, or (None) all."""
        made: list[tuple[str, Sequence[tuple[str, str]], str]] = []
        for name, table in groups:
            keys = [key for key in table_with_keys(table, self._keys) if shown in (None, key.show)]
            heading = f"more keys {name}" if shown is False else f"keys {name}"
            made.append((heading, [(_shown(key), key.tooltip) for key in keys], "key"))
        return made


def _shown(binding: Binding) -> str:
    return " ".join(shown_key(key) for key in binding.key.split(","))


def _entry(word: str, meaning: str, width: int, role: str) -> list[Line]:
    return [
        (Run(f"  {word if index == 0 else '':<18} ", role), *part)
        for index, part in enumerate(wrap(meaning, max(10, width - 21)))
    ]
