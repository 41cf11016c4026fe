"""What a sitting of a search writes down, with launches of one's own making."""

from collections.abc import Callable

import msgspec
import pytest

from perftui.ipc.ledger_records import Launch
from perftui.ipc.places import ledger_path, make_run_places
from perftui.ipc.search_records import Measured, Picture, SearchEntry, SearchPlan, Sitting
from perftui.trainer.tuning.collector import Collector
from perftui.trainer.tuning.enough import assess
from perftui.trainer.tuning.measure import Followed, Progress
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.search.carry_out import Search
from perftui.trainer.tuning.search.search_ledger import open_search_ledger
from perftui.trainer.tuning.search.state import begin, fold
from perftui.trainer.tuning.trials import Trial

from .made_search import launch, starved
from .simulated_job import PLAN, sitting

FOLLOWED = Followed(
    "enough", None, False, Collector(), [], 10, assess([], 10, 0.01, Caps()), None, 1.0, "known", 0.01
)


def nothing(*_: object) -> None:
    """Stand in for who is told."""


def progress(*_: object) -> Progress:
    return nothing


class Given:
    """A search whose launches are made up, and what its user does meanwhile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.given_up = False
        self.picture = Picture()
        self.edited: dict[str, object] = {}
        self.while_looking: Callable[[], None] = lambda: None
        self.while_stopping: Callable[[], None] = lambda: None
        monkeypatch.setattr("perftui.trainer.tuning.search.carry_out.run_trial", self._run_trial)
        monkeypatch.setattr("perftui.trainer.tuning.search.carry_out.observe", self._observe)
        monkeypatch.setattr("perftui.trainer.tuning.search.carry_out.with_program", self._with_program)
        with open_search_ledger(ledger_path()) as ledger:
            ledger.begin_search(PLAN)

    def _run_trial(self, *given: object) -> Trial:
        label, settings, look = given[0], given[2], given[6]
        look(make_run_places(f"made-{id(given)}"), FOLLOWED)  # type: ignore[operator]
        self.while_stopping()
        return Trial(launch(str(label), settings))  # type: ignore[arg-type]

    def _observe(self, *_: object) -> Picture:
        self.while_looking()
        return self.picture

    def _with_program(self, sitting: Sitting, _: SearchPlan) -> Sitting:
        return msgspec.structs.replace(sitting, **self.edited)

    def give_up(self) -> None:
        self.given_up = True

    def search(self, minutes: float | None = None, **program: object) -> list[SearchEntry]:
        """Search once, and return all entries; `program`: what the sitting says of the code."""
        state = fold(PLAN, self.entries()) if self.entries() else begin(PLAN)
        Search(
            state,
            msgspec.structs.replace(sitting(minutes=minutes), **program),
            nothing,
            progress,
            lambda: self.given_up,
            nothing,
        ).run()
        return self.entries()

    def entries(self) -> list[SearchEntry]:
        with open_search_ledger(ledger_path()) as ledger:
            return ledger.entries(PLAN.search_id)


def kinds(entries: list[SearchEntry]) -> list[str]:
    return [str(each.__struct_config__.tag) for each in entries]


@pytest.fixture
def given(runtime_dirs: object, monkeypatch: pytest.MonkeyPatch) -> Given:
    return Given(monkeypatch)


def test_a_launch_that_was_half_seen_leaves_no_entry_and_is_made_again(given: Given) -> None:
    given.while_looking = given.give_up
    assert kinds(given.search()) == ["sitting", "ended"]
    given.given_up, given.while_looking = False, lambda: None
    assert kinds(given.search()) == ["sitting", "ended", "sitting", "measured", "ended"]


def test_a_launch_that_ends_the_time_while_it_is_looked_at_leaves_no_entry(
    given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    def time_is_over() -> None:
        def out_of_time(_: Search) -> str:
            return "out_of_time"

        monkeypatch.setattr(Search, "_broken_off", out_of_time)

    given.while_looking = time_is_over
    assert kinds(given.search(minutes=1000)) == ["sitting", "ended"]


def test_a_launch_that_was_seen_whole_counts_whatever_comes_while_it_is_stopped(given: Given) -> None:
    given.while_stopping = given.give_up
    entries = given.search()
    assert kinds(entries) == ["sitting", "measured", "ended"]
    assert isinstance(fold(PLAN, entries).baseline, Launch)


def test_the_ledger_names_the_program_of_the_sitting_that_measured(given: Given) -> None:
    given.while_looking = given.give_up
    given.search(commit="old", dirty=False, versions={"torch": "2"})
    given.given_up, given.while_looking = False, lambda: None
    given.picture = Picture(findings=[starved(4)], device="cpu")
    given.search(commit="new", dirty=True, versions={"torch": "3"})
    with open_search_ledger(ledger_path()) as ledger:
        lines = ledger.newest()
    assert lines
    assert {(each.commit, each.dirty, each.versions["torch"]) for each in lines} == {("new", True, "3")}


def test_an_edit_between_two_launches_begins_the_comparison_anew(given: Given) -> None:
    given.picture = Picture(findings=[starved(4)], device="cpu")

    def edit_after_the_first() -> None:
        given.edited = {"commit": "new", "code": "edited"}

    given.while_stopping = edit_after_the_first
    entries = given.search()
    assert kinds(entries)[:5] == ["sitting", "measured", "begun", "sitting", "measured"]
    again = entries[4]
    assert isinstance(again, Measured)
    assert again.launch.label == "A"
    with open_search_ledger(ledger_path()) as ledger:
        (line, *_) = reversed(ledger.newest())
    assert line.commit == "new"
    assert len(line.launches) == kinds(entries).index("judged") - 4  # the one of before is not among them
    assert kinds(entries).count("sitting") == 2
