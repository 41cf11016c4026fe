"""Where the user's own code makes a loader and its samples: installed files and perftui's never count."""

import functools
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from perftui.ipc.messages import Effective
from perftui.trainer.probe.own_places import is_own, place_of_call

if TYPE_CHECKING:
    from .conftest import Hub, Outcome

pytestmark = pytest.mark.torch

SCRIPT = """
import time, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

class Pictures(Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, index):
        return torch.zeros(4)

def loaders():
    return DataLoader(
        Subset(Pictures(), range(24)),
        batch_size=2,
    )

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(2):
    for x in LOADER:
        model(x).sum().backward()
        optimizer.step()
        time.sleep(0.1)
"""
TENSORS = "DataLoader(torch.utils.data.TensorDataset(torch.zeros(8, 4)), collate_fn=lambda each: each[0][0])"


def _of_the_loader(outcome: "Outcome") -> set[tuple[str | None, str]]:
    told = [each.loader for each in outcome.of(Effective) if each.loader is not None]
    return {(each.made_at, each.fetch_at) for each in told}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("loaders()", {("train.py:13 loaders", "train.py:9 Pictures.__getitem__")}),
        (TENSORS, {("train.py:21 <module>", "")}),
    ],
)
def test_a_training_tells_where_its_loader_is_made(
    hub: "Hub", made: str, expected: set[tuple[str, str]]
) -> None:
    outcome = hub.train(SCRIPT.replace("LOADER", made))
    assert outcome.exit_code == 0, outcome.stderr
    told = {(_short(at), _short(fetch)) for at, fetch in _of_the_loader(outcome)}
    assert told == expected


def _short(place: str | None) -> str | None:
    return place and place.rpartition("/")[2]


def _run(folder: Path, name: str, code: str, **names: object) -> dict[str, object]:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(code))
    space: dict[str, object] = {"__name__": name.rpartition("/")[2].removesuffix(".py"), **names}
    exec(compile(file.read_text(), str(file), "exec"), space)
    return space


@pytest.mark.parametrize(
    ("package", "by"),
    [("transformers", " (by transformers)"), ("torchdata", ""), ("torch", ""), ("safetensors", "")],
)
def test_what_a_framework_makes_is_the_call_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, by: str
) -> None:
    monkeypatch.chdir(tmp_path)
    here = functools.partial(place_of_call)
    installed = _run(
        tmp_path,
        f"site-packages/{package}.py",
        "import sys\ndef make():\n    return made(sys._getframe(0))",
        made=here,
    )
    script = _run(tmp_path, "train.py", "def main():\n    return make()", make=installed["make"])
    assert script["main"]() == f"train.py:2 main{by}"  # type: ignore[operator]


def test_code_without_a_file_is_passed_over() -> None:
    space: dict[str, object] = {"made": place_of_call}
    exec("import sys\ndef here():\n    return made(sys._getframe(0))", space)
    place = space["here"]()  # type: ignore[operator]
    assert isinstance(place, str)
    assert place.endswith(" test_code_without_a_file_is_passed_over")
    assert place_of_call(None) is None


def test_whose_a_file_is(tmp_path: Path) -> None:
    ours, torchs = Path(place_of_call.__code__.co_filename), Path(torch.__file__)
    mine = [tmp_path / "train.py", ours.parents[1].with_name("trainer_of_mine") / "train.py"]
    assert all(is_own(str(file)) for file in mine)
    others = [ours, torchs, Path(functools.__file__), tmp_path / "site-packages" / "lightning" / "loop.py"]
    assert not any(is_own(str(file)) for file in others)
    assert not is_own("<string>")
