"""Scripts whose datasets keep random generators, and what is told of them.

Scripts are files of their own: whether something is the script's is told by where its code lies.
"""

from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

from perftui.trainer.probe.copied_generators import copies_in_workers
from perftui.trainer.probe.sampler_reading import copied_alike

_numbers = count()

HEAD = """
import os
import random
from functools import partial

import numpy as np
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, get_worker_info

LOADER = dict(num_workers=2, batch_size=4, multiprocessing_context="fork")

class Rows(Dataset):
    def __len__(self):
        return 64

class Noisy(Rows):
    def __init__(self, seed=3):
        self.rng = np.random.default_rng(seed)

    def __getitem__(self, index):
        return self.rng.standard_normal()
"""


def loader_of(where: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> DataLoader[Any]:
    name = f"waves_{next(_numbers)}"
    (where / f"{name}.py").write_text(HEAD + text)
    monkeypatch.syspath_prepend(str(where))
    loader: DataLoader[Any] = import_module(name).loader
    return loader


def told_of(where: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[tuple[str, str, str]]:
    found = copied_alike(copies_in_workers(loader_of(where, monkeypatch, text)), [])
    return [
        ("a module" if each.owner.startswith("waves_") else each.owner, each.attribute, each.kind)
        for each in found
    ]
