"""Where samples are made, by times and code alone; and what is asked for where no worker can be seen."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as replaced

from perftui.ipc.facts import RankFacts
from perftui.ipc.loader_facts import LoadingFacts
from perftui.ipc.worker_stacks import WorkerFrame, WorkerStacks
from perftui.trainer.diagnosis import POLICY
from perftui.trainer.diagnosis.signals import RankSignals

from .made import QUIET, facts, lead, loader, rank, run, shares, workers

_FULL = replace(QUIET, cpus=2.0, cores=2.0, online=2, cpu_busy=1.9, run_busy=1.9)
FETCH, COLLATE = "train.py:17 Rows.__getitem__", "train.py:40 Match.__call__"


def _timed(collating: float, collate: str = "Match") -> RankFacts:
    fetch_s, collate_s = 100 * (1 - collating), 100 * collating
    timed = LoadingFacts(loader=0, batches=99, fetch_s=fetch_s, collate_s=collate_s, collate=collate)
    return facts(loading=timed)


def _busy(told: RankFacts, fetch_at: str = FETCH, collate_at: str = COLLATE) -> RankSignals:
    """Half of the step is waiting for workers that compute all the time."""
    made = rank(
        shares=shares(wait=0.5, forward=0.15),
        loader=loader(num_workers=2, fetch_at=fetch_at, collate_at=collate_at),
        workers=workers(2, cpu_share=0.95, cpu_wait_share=0.0),
        facts=told,
    )
    return replace(made, cpu_share=0.5)


@pytest.mark.parametrize(
    ("made", "code", "said", "at"),
    [
        (
            _busy(_timed(0.1)),
            "input.item",
            "90 % of it to fetch samples (Rows.__getitem__, train.py:17)",
            FETCH,
        ),
        (_busy(_timed(0.1), fetch_at=""), "input.item", "90 % of it to fetch samples.", None),
        (_busy(_timed(0.8)), "input.collate", "building the batch (collate_fn Match, train.py:40)", COLLATE),
        (
            _busy(_timed(0.8), collate_at=""),
            "input.collate",
            "building the batch (collate_fn Match) takes",
            None,
        ),
        (
            _busy(_timed(0.8, "default_collate"), collate_at=""),
            "input.collate",
            "building the batch takes",
            None,
        ),
        (_busy(facts()), "input.item", "they compute all the time.", FETCH),
    ],
)
def test_the_place_is_known_by_times_and_code(
    made: RankSignals, code: str, said: str, at: str | None
) -> None:
    finding = lead(run(made, host=_FULL))
    assert finding.code == code
    assert said in finding.sentence
    assert finding.remedy is not None
    assert finding.remedy.at == at


def test_a_window_says_more_and_perftuis_own_frames_nothing() -> None:
    def frame(function: str, file: str, share: float) -> WorkerFrame:
        return WorkerFrame(function=function, file=file, line=9, self_share=0.0, total_share=share)

    ours = frame("_patch_fetch.<locals>.fetch", "/mnt/checkout/trainer/probe/batch_making.py", 0.99)
    seen = WorkerStacks(rank=0, pid=1, number=0, samples=100, frames=[ours])
    made = replace(_busy(facts()), worker_stacks=(seen,))
    finding = lead(run(made, host=_FULL))
    assert finding.remedy is not None
    assert finding.remedy.at == FETCH, "the dataset's own method stands for it"
    inner = replaced(seen, frames=[ours, frame("decode", "/home/me/data.py", 0.8)])
    settled = lead(run(replace(_busy(_timed(0.1)), worker_stacks=(inner,)), host=_FULL))
    assert settled.remedy is not None
    assert (settled.remedy.at, settled.unsure) == ("/home/me/data.py:9 decode", None)


def test_what_keeps_a_window_from_seeing_workers_is_asked_for_first() -> None:
    made = replace(_busy(_timed(0.1)), workers_unseen="py-spy is not installed: pip install py-spy")
    assert lead(run(made, host=_FULL)).unsure == (
        "py-spy is not installed: pip install py-spy; then a profile window shows which function of the "
        "workers takes the time"
    )
    plain = lead(run(_busy(_timed(0.1)), host=_FULL)).unsure
    assert plain == "a profile window shows which function of the workers takes the time"
    few = WorkerStacks(rank=0, pid=1, number=0, samples=POLICY.worker_looks - 1)
    longer = lead(run(replace(made, worker_stacks=(few,)), host=_FULL)).unsure
    assert (longer or "").startswith("a longer profile window")
