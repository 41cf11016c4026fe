"""How precisely the original must be known for what would be tried next. Pure."""

from dataclasses import replace

from perftui.ipc.search_records import Picture
from perftui.trainer.tuning.enough import sufficient_se
from perftui.trainer.tuning.explained import is_loaded
from perftui.trainer.tuning.regression import Label
from perftui.trainer.tuning.search.next_move import Known
from perftui.trainer.tuning.search.proposals import propose
from perftui.trainer.tuning.search.state import SearchState


def promised_se(
    state: SearchState, label: Label, picture: Picture, foreign_cores: float | None, known: Known
) -> float:
    """Return the standard error that suffices for the original, in log units; 0 where all counts.

    Only where the change that would be tried first, or the result at the end, promises three times the speed:
    what comes after it is measured against launches of its own. And only on a quiet host: where others
    compute, or nobody has looked, what is known to 4 % gives no verdict however large the gain (`verdict`).

    Args:
        state: before the launch has been measured.
        label: of the launch.
        picture: what is seen of it so far.
        foreign_cores: busy with other work during it so far; None: not measured.
        known: of noise and predictions on this host.
    """
    if foreign_cores is None or is_loaded(foreign_cores, known.cpus):
        return 0.0
    opened = state.open
    if opened is not None:
        given_up = opened.purpose == "final" and label == "A"
        return (sufficient_se(opened.proposal.expected) or 0.0) if given_up else 0.0
    seen = replace(state, pictures={**state.pictures, state.configuration(state.best): picture})
    choice = propose(seen, 1.0, known.cpus, known.calibration)
    return sufficient_se(choice.worthwhile[0].expected if choice.worthwhile else None) or 0.0
