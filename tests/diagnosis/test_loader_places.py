"""The line of the script that makes the loader, in whatever finding is about it."""

import pytest

from perftui.ipc.findings import Finding, Remedy
from perftui.trainer.diagnosis.case import Case
from perftui.trainer.diagnosis.loader_places import with_loader_place
from perftui.trainer.diagnosis.policy import POLICY

from .made import lead, loader, rank, run, shares

MADE, SAMPLES = "train.py:34 main", "train.py:20 Pictures.__getitem__"
LOADER = loader(made_at=MADE, samples_at=SAMPLES)


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
