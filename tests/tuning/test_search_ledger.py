"""Searches in the ledger: entries come back as they were, comparison and judgement are one, old files open"""

import sqlite3
from pathlib import Path

import pytest

from perftui.ipc.errors import Refused
from perftui.ipc.ledger_records import Verdict
from perftui.ipc.search_records import Begun, Ended, Judged, Measured, Picture, Proposal, SearchEntry
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.search.search_ledger import open_search_ledger
from tests.made_ledger import made_comparison, made_launch

from .simulated_job import PLAN, sitting

LAUNCH = made_launch(run_id="r1", log_step_s=-2.0, se=0.003, df=9.0)
ENTRIES: list[SearchEntry] = [
    sitting(),
    Measured(
        launch=LAUNCH,
        unix=1.0,
        wall_s=2.0,
        picture=Picture(device="cpu", in_force={"loader.num_workers": 0}),
        losses={0: 1.5, 10: None},
        steps_s=[0.1, 0.2],
    ),
    Begun(comparison_id="c1", purpose="trial", proposal=Proposal(set={"loader.num_workers": 2}, code="x")),
    Ended(reason="interrupted", sentence="Broken off."),
]


def test_entries_come_back_in_order_and_by_search(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with open_search_ledger(path) as ledger:
        ledger.begin_search(PLAN)
        for entry in ENTRIES:
            ledger.add_entry(PLAN.search_id, entry)
        ledger.add_entry("another", ENTRIES[0])
    with open_search_ledger(path) as ledger:
        assert ledger.entries(PLAN.search_id) == ENTRIES
        assert ledger.entries("another") == ENTRIES[:1]
        assert ledger.plans("made") == [PLAN]
        assert ledger.plans("elsewhere") == []


def test_a_comparison_and_its_judgement_are_both_there_or_neither(tmp_path: Path) -> None:
    judged = Judged(verdict=Verdict(verdict="same", sentence="s"), kept=False)
    with open_search_ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.add_judged("s", judged, made_comparison("c1", LAUNCH), [[0.1]])
        with pytest.raises(Refused, match="could not be written"):
            ledger.add_judged("s", judged, made_comparison("c1", LAUNCH), [[0.1]])
        assert ledger.entries("s") == [judged]
        assert [line.comparison_id for line in ledger.newest()] == ["c1"]
        assert ledger.steps_s("c1") == [[0.1]]


def test_a_ledger_of_the_version_before_takes_searches_up(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as ledger:
        ledger.append(made_comparison("old", LAUNCH))
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE searches")
    connection.execute("DROP TABLE search_entries")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    with open_search_ledger(path) as ledger:
        ledger.begin_search(PLAN)
        ledger.add_entry(PLAN.search_id, ENTRIES[0])
        assert ledger.entries(PLAN.search_id) == ENTRIES[:1]
        assert [line.comparison_id for line in ledger.newest()] == ["old"]
