"""Random generators of which loader workers have copies in the same state: told, and where all is well not.

Scripts are files of their own: whether something is the script's is told by where its code lies.
"""

from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

from perftui.trainer.probe.copied_generators import copied_generators

pytestmark = pytest.mark.torch

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


def _loader(where: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> DataLoader[Any]:
    name = f"waves_{next(_numbers)}"
    (where / f"{name}.py").write_text(HEAD + text)
    monkeypatch.syspath_prepend(str(where))
    loader: DataLoader[Any] = import_module(name).loader
    return loader


def _told(where: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> list[tuple[str, str, str]]:
    found = copied_generators(_loader(where, monkeypatch, text))
    return [
        ("a module" if each.owner.startswith("waves_") else each.owner, each.attribute, each.kind)
        for each in found
    ]


KINDS = """
class Waves(Rows):
    def __init__(self):
        self.chance = MADE

    def __getitem__(self, index):
        return DRAWN

loader = DataLoader(Waves(), **LOADER)
"""


@pytest.mark.parametrize(
    ("kind", "made", "drawn"),
    [
        ("numpy.Generator", "np.random.default_rng(1)", "self.chance.normal()"),
        ("numpy.RandomState", "np.random.RandomState(1)", "self.chance.normal()"),
        ("random.Random", "random.Random(1)", "self.chance.random()"),
        ("torch.Generator", "torch.Generator()", "torch.rand(1, generator=self.chance)"),
    ],
)
def test_each_kind_of_generator_and_equal_draws_of_real_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, made: str, drawn: str
) -> None:
    text = KINDS.replace("MADE", made).replace("DRAWN", drawn)
    loader = _loader(tmp_path, monkeypatch, text)
    assert [(each.owner, each.attribute, each.kind) for each in copied_generators(loader)] == [
        ("Waves", "chance", kind)
    ]
    batches = [batch.flatten().tolist() for batch in loader]
    assert batches[0] == batches[1]  # one of each worker
    assert batches[2] == batches[3]
    assert batches[0] != batches[2]


SEEN = {
    "of a dataset in two others": (
        "loader = DataLoader(Subset(ConcatDataset([Noisy(), Noisy(4)]), range(9)), **LOADER)",
        ("Noisy", "rng", "numpy.Generator"),
    ),
    "of a transform": (
        """
class Jitter:
    def __init__(self):
        self.state = np.random.RandomState(0)
    def __call__(self, x):
        return x + self.state.rand()
class Images(Rows):
    def __init__(self, transform):
        self.transform = transform
    def __getitem__(self, index):
        return self.transform(float(index))
loader = DataLoader(Images(Jitter()), **LOADER)
""",
        ("Jitter", "state", "numpy.RandomState"),
    ),
    "of a module among several": (
        """
class Drops(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.own = random.Random(0)
    def forward(self, x):
        return x * (self.own.random() > 0.1)
class Images(Rows):
    def __init__(self, *steps):
        self.steps = torch.nn.Sequential(*steps)
    def __getitem__(self, index):
        return self.steps(torch.ones(2))
loader = DataLoader(Images(torch.nn.Identity(), Drops()), **LOADER)
""",
        ("Drops", "own", "random.Random"),
    ),
    "by a method, a property and a base class": (
        """
class Deep(Noisy):
    @property
    def noise(self):
        return self._draw()
    def _draw(self):
        return self.rng.normal()
    def __getitem__(self, index):
        return self.noise
class Deeper(Deep):
    def __getitem__(self, index):
        return super().__getitem__(index) + 1
loader = DataLoader(Deeper(), **LOADER)
""",
        ("Deeper", "rng", "numpy.Generator"),
    ),
    "of the class itself": (
        """
class Shared(Rows):
    rng = np.random.default_rng(0)
    def __getitems__(self, indices):
        return [self.rng.normal() for _ in indices]
loader = DataLoader(Shared(), **LOADER)
""",
        ("Shared", "rng", "numpy.Generator"),
    ),
    "of a stream": (
        """
class Stream(IterableDataset):
    def __init__(self):
        self.rng = random.Random(0)
    def __iter__(self):
        while True:
            yield self.rng.random()
loader = DataLoader(Stream(), **LOADER)
""",
        ("Stream", "rng", "random.Random"),
    ),
    "of what puts batches together": (
        """
class Masks:
    def __init__(self):
        self.generator = torch.Generator()
    def __call__(self, rows):
        return torch.rand(len(rows), generator=self.generator)
loader = DataLoader(list(range(9)), collate_fn=Masks(), **LOADER)
""",
        ("Masks", "generator", "torch.Generator"),
    ),
    "a method kept as an attribute": (
        """
class Kept(Noisy):
    def __init__(self):
        super().__init__()
        self.augment = self._noise
    def _noise(self):
        return self.rng.normal()
    def __getitem__(self, index):
        return self.augment()
loader = DataLoader(Kept(), **LOADER)
""",
        ("Kept", "rng", "numpy.Generator"),
    ),
    "a global": (
        """
RNG = np.random.default_rng(0)
def draw():
    return RNG.normal()
class Drawn(Rows):
    def __getitem__(self, index):
        return draw()
loader = DataLoader(Drawn(), **LOADER)
""",
        ("a module", "RNG", "numpy.Generator"),
    ),
    "a closed-over one": (
        """
def make():
    rng = np.random.default_rng(0)
    return lambda x: x + rng.normal()
class Images(Rows):
    def __init__(self, transform):
        self.transform = transform
    def __getitem__(self, index):
        return self.transform(index)
loader = DataLoader(Images(make()), **LOADER)
""",
        ("a module", "rng", "numpy.Generator"),
    ),
    "although worker_init_fn seeds the others": (
        """
def prepare(worker):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)
loader = DataLoader(Noisy(), worker_init_fn=prepare, **LOADER)
""",
        ("Noisy", "rng", "numpy.Generator"),
    ),
    "in workers that are spawned": (
        'loader = DataLoader(Noisy(), num_workers=2, multiprocessing_context="spawn")',
        ("Noisy", "rng", "numpy.Generator"),
    ),
}


@pytest.mark.parametrize("case", SEEN)
def test_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    text, told = SEEN[case]
    assert _told(tmp_path, monkeypatch, text) == [told]


SILENT = {
    "fewer than two workers": "loader = DataLoader(Noisy(), num_workers=1)",
    "no workers": "loader = DataLoader(Noisy())",
    "only in the constructor": """
class Made(Rows):
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.rows = self.rng.normal(size=64)
    def __getitem__(self, index):
        return self.rows[index]
    def shuffle(self):
        self.rng.shuffle(self.rows)
loader = DataLoader(Made(), **LOADER)
""",
    "a global generator of the same name": """
class Made(Rows):
    def __init__(self):
        self.random = random.Random(0)
        self.rows = [self.random.random() for _ in range(64)]
    def __getitem__(self, index):
        return self.rows[index] + random.random() + np.random.rand()
loader = DataLoader(Made(), **LOADER)
""",
    "an attribute of the name of a global one": """
rng = np.random.default_rng(0)
class Made(Rows):
    rng = None
    def __getitem__(self, index):
        if self.rng is None:
            self.rng = np.random.default_rng(torch.initial_seed())
        return self.rng.normal()
loader = DataLoader(Made(), **LOADER)
""",
    "made where it is first used": """
class Lazy(Rows):
    def __init__(self):
        self.rng = None
    def __getitem__(self, index):
        if self.rng is None:
            self.rng = np.random.default_rng()
        return self.rng.normal()
data = Lazy()
data[0]
loader = DataLoader(data, **LOADER)
""",
    "seeded by the sample's number": """
class BySample(Rows):
    def __init__(self):
        self.generator = torch.Generator()
    def __getitem__(self, index):
        self.generator.manual_seed(index)
        return torch.rand(1, generator=self.generator)
loader = DataLoader(BySample(), **LOADER)
""",
    "a transform seeded by who calls it": """
class Jitter:
    def __init__(self):
        self.rng = random.Random(0)
    def __call__(self, x):
        return x + self.rng.random()
class BySample(Rows):
    def __init__(self):
        self.transform = Jitter()
    def __getitem__(self, index):
        self.transform.rng.seed(index)
        return self.transform(index)
loader = DataLoader(BySample(), **LOADER)
""",
    "one of several by the worker's number": """
class Each(Rows):
    def __init__(self):
        self.rngs = [np.random.default_rng(number) for number in range(2)]
    def __getitem__(self, index):
        return self.rngs[get_worker_info().id].normal()
loader = DataLoader(Each(), **LOADER)
""",
    "made anew in another process": """
class Pids(Rows):
    def __init__(self):
        self._renew()
    def _renew(self):
        self.pid, self.rng = os.getpid(), np.random.default_rng()
    def __getitem__(self, index):
        if self.pid != os.getpid():
            self._renew()
        return self.rng.normal()
loader = DataLoader(Pids(), **LOADER)
""",
    "seeded in worker_init_fn": """
def prepare(worker):
    get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed())
loader = DataLoader(Noisy(), worker_init_fn=prepare, **LOADER)
""",
    "seeded in worker_init_fn by a global name": """
data = Noisy()
def renew(number):
    data.rng = np.random.default_rng(number)
loader = DataLoader(data, worker_init_fn=lambda worker: renew(worker), **LOADER)
""",
    "seeded in worker_init_fn by a method": """
class Renewed(Noisy):
    def begin(self, worker):
        self.rng = np.random.default_rng(worker)
data = Renewed()
loader = DataLoader(data, worker_init_fn=data.begin, **LOADER)
""",
    "a worker_init_fn given the dataset": """
def prepare(rows, worker):
    rows.rng = np.random.default_rng(worker)
data = Noisy()
loader = DataLoader(data, worker_init_fn=partial(prepare, data), **LOADER)
""",
    "a worker_init_fn that is no function of Python's": """
class Opaque:
    __call__ = print
loader = DataLoader(Noisy(), worker_init_fn=Opaque(), **LOADER)
""",
    "left out where it is pickled": """
class Light(Noisy):
    def __getstate__(self):
        return {"rng": np.random.default_rng()}
loader = DataLoader(Light(), num_workers=2, multiprocessing_context="spawn")
""",
    "a global of workers that are spawned": """
RNG = np.random.default_rng()
class Drawn(Rows):
    def __getitem__(self, index):
        return RNG.normal()
loader = DataLoader(Drawn(), num_workers=2, multiprocessing_context="spawn")
""",
    "the system's own": """
class Secret(Rows):
    def __init__(self):
        self.rng = random.SystemRandom()
    def __getitem__(self, index):
        return self.rng.random()
loader = DataLoader(Secret(), **LOADER)
""",
}


@pytest.mark.parametrize("case", SILENT)
def test_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    assert _told(tmp_path, monkeypatch, SILENT[case]) == []


def test_no_code_of_the_script_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
class Trap:
    def __getattr__(self, name):
        raise SystemExit(name)
    def __iter__(self):
        raise SystemExit
    __len__ = __call__ = __bool__ = __eq__ = __hash__ = __iter__
    @property
    def rng(self):
        raise SystemExit
class Set(Noisy):
    trap = Trap()
    def __init__(self):
        super().__init__()
        self.held = [Trap(), {"one": Trap()}]
    @property
    def late(self):
        raise SystemExit
    def __getitem__(self, index):
        return self.rng.normal() + self.trap.rng + self.late + len(self.held)
loader = DataLoader(Set(), collate_fn=Trap(), **LOADER)
"""
    assert _told(tmp_path, monkeypatch, text) == [("Set", "rng", "numpy.Generator")]
