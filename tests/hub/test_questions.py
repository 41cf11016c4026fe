"""Questions to a real hub: steps of a rank, the ledger, and what could not be judged."""

import socket
from pathlib import Path

import pytest

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import (
    Answer,
    Done,
    LedgerQuery,
    Question,
    RanksQuery,
    SearchQuery,
    StepsQuery,
    ToDashboard,
    Update,
)
from perftui.ipc.errors import Refused
from perftui.ipc.places import RunPlaces, ledger_path
from perftui.ipc.search_records import Ended, SearchPlan
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.ledger_reading import newest_comparisons
from perftui.trainer.tuning.search.search_ledger import open_search_ledger
from tests.tui.page_scenes import comparison

from .conftest import HubProcess, until
from .fake_rank import WALL_NS, FakeRank


def asked(link: DashboardLink, question: Question) -> tuple[Answer, Done | None]:
    """Ask, and take what comes of it."""
    link.command(question)
    answer = _next(link)
    assert isinstance(answer, Answer)
    done = _next(link) if answer.accepted else None
    assert done is None or isinstance(done, Done)
    return answer, done


def _next(link: DashboardLink) -> ToDashboard | None:
    """Return what comes next beside updates, which earlier pulls may still bring."""
    message = link.receive(5000)
    while isinstance(message, Update):
        message = link.receive(5000)
    return message


def test_steps_of_a_rank(hub: HubProcess, rank: FakeRank, link: DashboardLink) -> None:
    hub.start()
    rank.hello()
    rank.steps(300)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 300)
    _, done = asked(link, StepsQuery(command_id=new_command_id(), rank=0, blocks=30))
    assert done is not None
    assert done.steps is not None
    assert (done.steps.block_steps, len(done.steps.p50_ms)) == (10, 30)
    _, done = asked(link, StepsQuery(command_id=new_command_id(), rank=0, newest=40, blocks=100))
    assert done is not None
    assert done.steps is not None
    assert (done.steps.first_step, done.steps.last_step) == (260, 299)
    answer, _ = asked(link, StepsQuery(command_id=new_command_id(), rank=7))
    assert answer.reason == "rank 7: no such rank in this run"


def test_ranks_over_steps(hub: HubProcess, rank: FakeRank, link: DashboardLink, places: RunPlaces) -> None:
    hub.start()
    answer, _ = asked(link, RanksQuery(command_id=new_command_id()))
    assert answer.reason == "no rank has made a step yet"
    other = FakeRank(places, rank=1, world_size=2, process=(1, 1))
    try:
        rank.hello()
        other.hello()
        rank.steps(40)
        other.steps(40, wall_ns=2 * WALL_NS)
        until(link, lambda u: len(u.view.ranks) == 2 and all(each.steps == 40 for each in u.view.ranks))
        _, done = asked(link, RanksQuery(command_id=new_command_id(), newest=20, blocks=4, measure="step"))
    finally:
        other.link.close()
    assert done is not None
    assert done.ranks is not None
    assert (done.ranks.first_step, done.ranks.last_step, done.ranks.block_steps) == (20, 39, 5)
    assert [band.excess_ms for band in done.ranks.bands] == [[0.0] * 4, [WALL_NS / 1e6] * 4]


def test_a_replay_tells_the_same(
    hub: HubProcess, rank: FakeRank, link: DashboardLink, places: RunPlaces
) -> None:
    hub.start()
    rank.hello()
    rank.steps(50)
    until(link, lambda u: bool(u.view.ranks) and u.view.ranks[0].steps == 50)
    _, live = asked(link, StepsQuery(command_id=new_command_id(), rank=0))
    hub.end()
    hub.start("--replay", str(places.state), "--at-end")
    until(link, lambda u: u.view.header.replay)
    _, replayed = asked(link, StepsQuery(command_id=new_command_id(), rank=0))
    assert live is not None
    assert replayed is not None
    assert live.steps == replayed.steps
    _, done = asked(link, LedgerQuery(command_id=new_command_id()))
    assert done is not None
    assert done.comparisons == []


def test_the_ledger_comes_newest_first_and_failed_trials_with_it(
    hub: HubProcess, rank: FakeRank, link: DashboardLink
) -> None:
    with open_ledger(ledger_path()) as ledger:
        for number in range(5):
            ledger.append(comparison(number))
    hub.start()
    rank.hello()
    until(link, lambda u: bool(u.view.ranks))
    _, done = asked(link, LedgerQuery(command_id=new_command_id(), limit=3))
    assert done is not None
    assert done.comparisons == [comparison(4), comparison(3), comparison(2)]


def test_the_newest_search_is_told_as_it_stands(hub: HubProcess, rank: FakeRank, link: DashboardLink) -> None:
    hub.start()
    rank.hello()
    until(link, lambda u: bool(u.view.ranks))
    _, done = asked(link, SearchQuery(command_id=new_command_id()))
    assert done is not None
    assert (done.ok, done.search) == (True, None)
    plan = SearchPlan(
        search_id="tune-made-1", unix=1.0, host=socket.gethostname(), name="made", command=["x"], cwd="/"
    )
    with open_search_ledger(ledger_path()) as ledger:
        ledger.begin_search(plan)
        ledger.add_entry(plan.search_id, Ended(reason="interrupted", sentence="Broken off."))
    _, done = asked(link, SearchQuery(command_id=new_command_id(), search="made"))
    assert done is not None
    assert done.search is not None
    assert (done.search.search_id, done.search.sentence) == ("tune-made-1", "Broken off.")


def test_what_cannot_be_judged_is_told_once(hub: HubProcess, rank: FakeRank, link: DashboardLink) -> None:
    hub.start()
    rank.hello()
    rank.steps(1)
    update = until(link, lambda u: bool(u.unjudged))
    assert update.unjudged is not None
    assert all(each.reason and each.settled_by for each in update.unjudged)
    told_again = 0
    for _ in range(10):
        link.pull()
        later = link.receive(5000)
        assert isinstance(later, Update)
        told_again += later.unjudged is not None
    assert told_again < 10


def test_a_damaged_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    assert newest_comparisons(path, 10) == []
    assert not path.exists()
    path.write_bytes(b"not a database, but long enough to be taken for one" * 40)
    with pytest.raises(Refused, match="the ledger cannot be read"):
        newest_comparisons(path, 10)
    assert path.read_bytes().startswith(b"not a database")
