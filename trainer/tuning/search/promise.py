"""How precisely the original must be known for what would be tried next. Pure."""

from dataclasses import replace

from perftui.ipc.search_records import Picture
from perftui.trainer.tuning.enough import sufficient_se
from perftui.trainer.tuning.search.next_move import Known
from perftui.trainer.tuning.search.proposals import propose
from perftui.trainer.tuning.search.state import SearchState


def promised_se(state: SearchState, picture: Picture, known: Known) -> float:
    """Return the standard error that suffices for the original, in log units; 0 where all counts.

    Only where the change that would be tried first promises three times the speed: what comes after it is
    measured against launches of its own.

    Args:
        state: before the original has been measured.
        picture: what is seen of it so far.
        known: of noise and predictions on this host.
    """
    seen = replace(state, pictures={**state.pictures, state.configuration(state.best): picture})
    choice = propose(seen, 1.0, known.cpus, known.calibration)
    return sufficient_se(choice.worthwhile[0].expected if choice.worthwhile else None) or 0.0
