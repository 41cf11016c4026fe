"""Random generators of which loader workers have copies in the same state."""

from pathlib import Path

import pytest

from perftui.trainer.probe.copied_generators import copies_in_workers
from tests.probe.generator_scripts import loader_of, told_of

pytestmark = pytest.mark.torch

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
    loader = loader_of(tmp_path, monkeypatch, text)
    told = [each.told for each in copies_in_workers(loader)]
    assert [(each.owner, each.attribute, each.kind) for each in told] == [("Waves", "chance", kind)]
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
    assert set(told_of(tmp_path, monkeypatch, text)) == {told}


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
    assert told_of(tmp_path, monkeypatch, text) == [("Set", "rng", "numpy.Generator")]


WAYS = {
    "an attribute": ("loader = DataLoader(Noisy(), **LOADER)", ["dataset.rng"], "self.rng = "),
    "of datasets in others": (
        "loader = DataLoader(Subset(ConcatDataset([Noisy(), Noisy(4)]), range(9)), **LOADER)",
        ["dataset.dataset.datasets[0].rng", "dataset.dataset.datasets[1].rng"],
        "self.rng = ",
    ),
    "of a module among several": (
        SEEN["of a module among several"][0],
        ["dataset.steps._modules['1'].own"],
        "self.own = ",
    ),
    "of the class itself": (SEEN["of the class itself"][0], ["dataset.rng"], "    rng = np"),
    "a global": (SEEN["a global"][0], ["RNG"], "RNG = "),
    "a closed-over one": (SEEN["a closed-over one"][0], [""], "    rng = np.random.default_rng(0)"),
    "of what puts batches together": (SEEN["of what puts batches together"][0], [""], "self.generator = "),
    "what a global object keeps": (
        """
AUGMENT = {"noise": Noisy()}
class Drawn(Rows):
    def __getitem__(self, index):
        return AUGMENT["noise"][index]
loader = DataLoader(Drawn(), **LOADER)
""",
        ["AUGMENT['noise'].rng"],
        "self.rng = ",
    ),
    "set over several lines": (
        """
class Wide(Noisy):
    def __init__(self):
        super().__init__()
        (
            self.other,
            self.rng,
        ) = None, np.random.default_rng(0)
loader = DataLoader(Wide(), **LOADER)
""",
        ["dataset.rng"],
        "self.rng,",
    ),
}


@pytest.mark.parametrize("case", WAYS)
def test_the_way_to_it_and_where_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    text, ways, line = WAYS[case]
    monkeypatch.chdir(tmp_path)
    told = [each.told for each in copies_in_workers(loader_of(tmp_path, monkeypatch, text))]
    begin = "torch.utils.data.get_worker_info()."
    assert [each.reached for each in told] == [f"{begin * way.startswith('dataset')}{way}" for way in ways]
    for each in told:
        file, _, number = each.made.partition(":")
        assert line in (tmp_path / file).read_text().splitlines()[int(number) - 1]
        assert each.module in ("", file.removesuffix(".py"))
