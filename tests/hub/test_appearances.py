"""When findings were first seen: noted once, told anew from a recording."""

from perftui.ipc.findings import Appearance, Finding
from perftui.ipc.recording import Entry
from perftui.trainer.hub.appearances import Appearances
from perftui.trainer.hub.fold import RunFold


def _finding(code: str, rank: int | None = None) -> Finding:
    return Finding(code=code, severity="warning", share=0.1, sentence="", rank=rank)


def test_each_is_noted_once_even_when_it_comes_back() -> None:
    seen = Appearances()
    (first,) = seen.note([_finding("input.workers")], 20, 105.0)
    assert (first.code, first.step, first.unix) == ("input.workers", 20, 105.0)
    assert seen.note([], 30, 110.0) == []
    new = seen.note([_finding("input.workers"), _finding("input.workers", 1)], 40, 120.0)
    assert [(each.code, each.rank, each.step) for each in new] == [("input.workers", 1, 40)]


def test_a_finding_is_told_with_its_own_first_time() -> None:
    seen = Appearances()
    seen.note([_finding("input.workers")], 20, 105.04)
    told, other = seen.told([_finding("input.workers"), _finding("comm.exposed")], 100.0)
    assert (told.first_step, told.first_s) == (20, 5.0)
    assert (other.first_step, other.first_s) == (None, None), "only the whole run shows it"


def test_what_was_recorded_counts_for_a_later_hub_and_a_replay() -> None:
    fold = RunFold()
    entry = Appearance(code="input.workers", rank=None, host=None, step=20, unix=105.0)
    fold.apply(Entry(unix=105.0, appeared=[entry]))
    assert fold.appearances.note([_finding("input.workers")], 900, 400.0) == []
    (told,) = fold.appearances.told([_finding("input.workers")], 100.0)
    assert (told.first_step, told.first_s) == (20, 5.0)
