"""Random generators that are no fault: made in the worker, seeded anew, used elsewhere, or not known."""

from pathlib import Path

import pytest

from tests.probe.generator_scripts import told_of

pytestmark = pytest.mark.torch

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
    assert told_of(tmp_path, monkeypatch, SILENT[case]) == []
