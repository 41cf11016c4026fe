"""Reads a search of this host from the ledger, without writing to it, for whoever looks at it."""

import socket
from dataclasses import dataclass

from perftui.ipc.places import ledger_path, search_progress_path
from perftui.ipc.run_files import read_record
from perftui.ipc.search_view import SearchProgress, SearchView
from perftui.trainer.telemetry.host import effective_cpus
from perftui.trainer.telemetry.processes import is_alive
from perftui.trainer.tuning.known_noise import known_noise
from perftui.trainer.tuning.ledger_reading import newest_comparisons, recorded_search
from perftui.trainer.tuning.search.calibration import HISTORY, calibration_of
from perftui.trainer.tuning.search.next_move import Known, choice_now
from perftui.trainer.tuning.search.proposals import Choice
from perftui.trainer.tuning.search.search_view import search_view
from perftui.trainer.tuning.search.state import SearchState, fold


@dataclass(frozen=True)
class FoundSearch:
    """A search as it stands."""

    state: SearchState
    choice: Choice
    """What might be tried next, and what is set aside."""
    progress: SearchProgress | None
    """What the process tells that searches on this host now; None: none does."""


def found_search(word: str = "") -> FoundSearch | None:
    """Return a search of this host; None where there is none.

    Args:
        word: its id, the beginning of one, or its name; empty: the newest.

    Raises:
        Refused: the ledger cannot be read.
    """
    host = socket.gethostname()
    found = recorded_search(ledger_path(), host, word)
    if found is None:
        return None
    state = fold(*found)
    lines = newest_comparisons(ledger_path(), HISTORY, host)
    noise = known_noise(lines, state.plan.command)
    known = Known(noise, effective_cpus(), 0.0, calibration_of(lines))
    return FoundSearch(state, choice_now(state, known), _progress(host))


def read_search(word: str = "") -> SearchView | None:
    """Return a search of this host as a screen shows it; None where there is none.

    Raises:
        Refused: the ledger cannot be read.
    """
    found = found_search(word)
    return None if found is None else search_view(found.state, found.choice, found.progress)


def _progress(host: str) -> SearchProgress | None:
    """Return what the process that searches now has told; what a dead one left is nothing."""
    told = read_record(search_progress_path(host), SearchProgress)
    return told if told is not None and is_alive(told.pid, told.started_ticks) else None
