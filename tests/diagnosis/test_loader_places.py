"""The line of the script that makes the loader, in whatever finding is about it."""

from dataclasses import replace

import pytest

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.loader_facts import SamplingFacts
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.loader_places import with_loader_place
from perftui.trainer.diagnosis.policy import POLICY

from .made import facts, lead, loader, rank, run, shares, waiting_rank

MADE, SAMPLES = "train.py:34 main", "train.py:20 Pictures.__getitem__"
LOADER = loader(made_at=MADE, fetch_at=SAMPLES)


def placed(code: str, remedy: Remedy | None) -> Remedy | None:
    finding = Finding(code=code, severity="warning", share=0.5, sentence="", remedy=remedy)
    return with_loader_place(finding, Case(run(rank(loader=LOADER)), POLICY)).remedy


@pytest.mark.parametrize(
    ("code", "remedy", "made_at", "at"),
    [
        ("input.item", Remedy(advice="a"), MADE, SAMPLES),
        ("input.item", Remedy(advice="a", at="train.py:31 load"), MADE, "train.py:31 load"),
        ("input.epoch_start", Remedy(set={"loader.persistent_workers": True}), MADE, None),
        ("input.collate", Remedy(advice="a"), MADE, None),
        ("data.worker_seed", Remedy(advice="a"), MADE, None),
        ("copies.pageable", Remedy(set={"loader.pin_memory": True}), MADE, None),
        ("input.workers", Remedy(set={"loader[1].num_workers": 2}), None, None),  # another loader
        ("input.inline", Remedy(advice="a", at="train.py:40 main"), None, "train.py:40 main"),
        ("cpu.python", Remedy(advice="a", at="train.py:40 main"), None, "train.py:40 main"),
    ],
)
def test_where_the_loader_is_made(code: str, remedy: Remedy, made_at: str | None, at: str | None) -> None:
    told = placed(code, remedy)
    assert told is not None
    assert (told.made_at, told.at) == (made_at, at)


def test_a_starved_training_is_told_the_line_to_change() -> None:
    assert placed("input.workers", None) is None
    first = lead(run(rank(loader=LOADER, shares=shares(wait=0.5, forward=0.15))))
    assert first.code == "input.workers"
    assert first.remedy is not None
    assert (first.remedy.made_at, first.remedy.at) == (MADE, SAMPLES)


INIT = "train.py:34 Clips.open_body"


@pytest.mark.parametrize(
    ("took_s", "at", "words"),
    [
        (None, None, "by fork each time."),
        (0.499, None, "by fork each time."),  # a quarter of 2 s would be 0.5
        (0.5, INIT, "each time, 0.5 s of it in worker_init_fn."),
        (1.9, INIT, "each time, 1.9 s of it in worker_init_fn."),
        (3.0, INIT, "each time, 2 s of it in worker_init_fn."),  # others prefetch meanwhile: no more than all
    ],
)
def test_what_the_script_prepares_in_each_worker(took_s: float | None, at: str | None, words: str) -> None:
    sampling = SamplingFacts(
        loader=0, sampler="RandomSampler", worker_init_fn=True, worker_init_s=took_s, worker_init_at=INIT
    )
    started = loader(num_workers=2, multiprocessing_context="fork", made_at=MADE)
    starting = replace(
        waiting_rank(0.5, loader=started), epoch_start_wait=0.45, facts=facts(sampling=sampling)
    )
    patterns = replace(starting.patterns, epoch_starts=3, epoch_start_ms=2000.0)
    finding = lead(run(replace(starting, patterns=patterns)))
    assert finding.code == "input.epoch_start"
    assert finding.sentence.endswith(words)
    assert finding.remedy is not None
    assert (finding.remedy.at, finding.remedy.made_at) == (at, MADE)
