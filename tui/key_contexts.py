"""Which tables of keys are in force together: the nearest to the eye first, which shadows what follows."""

from collections.abc import Sequence

from textual.binding import Binding, BindingType

from perftui.tui import keys

_PROFILE = (keys.TRACE, keys.PROFILE, keys.EVERYWHERE)
_ALONE = (keys.TRACE, keys.ALONE)
CONTEXTS: dict[str, tuple[Sequence[BindingType], ...]] = {
    "the overview": (keys.OVERVIEW, keys.EVERYWHERE),
    "the findings": (keys.FINDINGS, keys.EVERYWHERE),
    "the ledger": (keys.LEDGER, keys.EVERYWHERE),
    "the settings": (keys.SETTINGS, keys.EVERYWHERE),
    "the tune page": (keys.TUNE, keys.EVERYWHERE),
    "a rank": (keys.RANK, keys.EVERYWHERE),
    "ranks over time": (keys.RANKS, keys.EVERYWHERE),
    "the output": (keys.OUTPUT, keys.EVERYWHERE),
    "a profile": (keys.TRACE_TABLE, *_PROFILE),
    "a timeline": (keys.TIMELINE, *_PROFILE),
    "a trace": (keys.TRACE_TABLE, *_ALONE),
    "a trace's timeline": (keys.TIMELINE, *_ALONE),
    "a search": (keys.TUNE_ALONE, keys.ALONE),
    "a filter": (keys.FILTER,),
    "an export": (keys.EXPORT,),
    "a proposal": (keys.PROPOSAL,),
    "a question": (keys.CONFIRMATION,),
    "a window's question": (keys.WINDOW_CHOICE,),
    "a text": (keys.FACTS,),
    "the help": (keys.HELP,),
    "the list of runs": (keys.PICKER,),
}


def bindings_of(tables: Sequence[Sequence[BindingType]]) -> list[Binding]:
    """Return the bindings of some tables, in order."""
    return [each for table in tables for each in table if isinstance(each, Binding)]


def every_binding() -> list[Binding]:
    """Return each binding that there is once."""
    found = {id(each): each for tables in CONTEXTS.values() for each in bindings_of(tables)}
    return list(found.values())
