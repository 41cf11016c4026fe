"""Sentences fit the number of what they speak of: one worker, one time."""

import re
from dataclasses import replace

import pytest

from perftui.ipc.figures import counted
from perftui.ipc.loader_facts import LoadingFacts
from perftui.trainer.diagnosis.signals import PauseSignals

from .made import QUIET, facts, found, lead, loader, rank, run, shares, workers

_FULL = replace(QUIET, cpu_busy=7.9, run_busy=7.8)
_ONE_AS_MANY = re.compile(r"\b1 (\w+s)\b(?<!us)(?<!ms)|\bone \w+ \w+; they\b")
_PLURAL_OF_SEVERAL = re.compile(r"\bthey\b|\btheir\b")


def test_a_number_stands_before_the_word_that_fits_it() -> None:
    assert [counted(each, "worker") for each in (0, 1, 2, 1200)] == [
        "0 workers",
        "1 worker",
        "2 workers",
        "1,200 workers",
    ]
    assert [counted(each, "usable core") for each in (0.5, 1.0, 8.0)] == [
        "0.5 usable cores",
        "1 usable core",
        "8 usable cores",
    ]
    assert [counted(each, "process", "processes") for each in (1, 3)] == ["1 process", "3 processes"]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    "figures",
    [
        {"cpu_share": 0.95},
        {"cpu_share": 0.2, "cpu_wait_share": 0.8},
        {"cpu_share": 0.1},
        {"cpu_share": 0.1, "blocked_share": 0.9},
        {"cpu_share": 0.1, "socket_share": 0.9},
    ],
)
@pytest.mark.parametrize("collating", [None, 0.3, 0.9, 1.0])
def test_one_worker_is_spoken_of_as_one(
    count: int, figures: dict[str, float], collating: float | None
) -> None:
    timed = facts()
    if collating is not None:
        timed = facts(loading=LoadingFacts(loader=0, batches=99, fetch_s=1 - collating, collate_s=collating))
    starved = rank(
        shares=shares(wait=0.6, forward=0.1),
        loader=loader(num_workers=count),
        workers=workers(count, **figures),
        facts=timed,
    )
    told = lead(run(starved, host=_FULL)).sentence
    assert _ONE_AS_MANY.search(told) is None, told
    assert (_PLURAL_OF_SEVERAL.search(told) is None) or count > 1, told


def test_workers_that_wait_for_a_core_are_not_said_to_compute_all_the_time() -> None:
    def told(**figures: object) -> str:
        starved = rank(
            shares=shares(wait=0.6, forward=0.1), loader=loader(num_workers=2), workers=workers(2, **figures)
        )
        return lead(run(starved, host=_FULL)).sentence

    assert "they compute all the time" in told(cpu_share=0.95)
    assert "they are busy or waiting for a core all the time" in told(cpu_share=0.2, cpu_wait_share=0.8)


def test_a_batch_that_takes_all_of_the_workers_time_is_said_so() -> None:
    timed = facts(loading=LoadingFacts(loader=0, batches=99, fetch_s=0.0, collate_s=100.0, collate="Match"))
    starved = rank(
        shares=shares(wait=0.6, forward=0.1),
        loader=loader(num_workers=2),
        workers=workers(2, cpu_share=0.95),
        facts=timed,
    )
    assert "building the batch (collate_fn Match) takes all their time" in lead(run(starved)).sentence


@pytest.mark.parametrize(("count", "words"), [(1, "once, 500 ms."), (4, "4 times in 3 s, 500 ms each.")])
@pytest.mark.parametrize("kind", ["checkpoint", "validation"])
def test_a_single_pause_is_told_as_one(kind: str, count: int, words: str) -> None:
    pause = PauseSignals(kind=kind, count=count, total_ms=500.0 * count, longest_ms=500.0, share=0.7)
    finding = found(run(rank(pauses=(pause,))))[f"pause.{kind}"]
    assert finding.sentence.endswith(f" of the time: {words}")
