"""The runs that the ledger stands on: they are not removed, however old."""

from perftui.ipc.places import ledger_path
from perftui.ipc.search_records import Measured
from perftui.trainer.tuning.journal import still_under_way
from perftui.trainer.tuning.search.search_ledger import open_search_ledger


def evidence_runs() -> set[str]:
    """Return the ids of all launches, and of the runs before and after each comparison.

    Raises:
        PerftuiError: the ledger cannot be read.
    """
    found = {each.plan.run_id or "" for each in still_under_way()}
    found |= {
        launch.launch.run_id
        for each in still_under_way()
        for launch in each.view.launches
        if launch.launch is not None
    }
    if not ledger_path().exists():
        return found
    with open_search_ledger(ledger_path()) as ledger:
        for comparison in ledger.newest():
            found |= {launch.run_id for launch in comparison.launches}
            found |= {comparison.parent or "", comparison.successor or ""}
        for entry in ledger.all_entries():
            if isinstance(entry, Measured):
                found.add(entry.launch.run_id)
    return found
