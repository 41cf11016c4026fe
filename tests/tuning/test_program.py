"""Which program a command starts: edited code is another one, on a search that is taken up again too."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.errors import Refused
from perftui.ipc.places import ledger_path
from perftui.ipc.search_records import Begun, Proposal
from perftui.trainer.tuning.program import code_of, visible_devices
from perftui.trainer.tuning.provenance import commit_of, versions_of
from perftui.trainer.tuning.search.search_ledger import open_search_ledger
from perftui.trainer.tuning.search.tune_verb import Asked, tune_verb

from .made_search import launch, measured
from .simulated_job import PLAN, sitting

COMMAND = [sys.executable, "train.py", "--config=conf/small.yaml"]


@pytest.fixture
def folder(tmp_path: Path, runtime_dirs: object, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in git: a script, a module beside it, one further down, a configuration."""
    made = tmp_path / "project"
    for name in ("train.py", "model.py", "conf/small.yaml", "parts/layers.py"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text("a = 1\n")
    git(made, "init", "-q")
    git(made, "add", "train.py", "parts")
    git(made, "commit", "-q", "-m", "one")
    monkeypatch.chdir(made)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return made


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.invalid"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def code(folder: Path, interpreter: str = "python") -> str:
    return code_of(COMMAND, folder, interpreter)


@pytest.mark.parametrize("name", ["train.py", "model.py", "conf/small.yaml", "parts/layers.py"])
def test_an_edited_file_makes_another_program_and_the_edit_taken_back_the_same(
    folder: Path, name: str
) -> None:
    before = code(folder)
    assert code(folder) == before
    (folder / name).write_text("a = 2\n")
    assert code(folder) != before
    (folder / name).write_text("a = 1\n")
    assert code(folder) == before


def test_what_is_no_code_may_change_beside_it(folder: Path) -> None:
    (folder / "log.txt").write_text("step 1\n")
    git(folder, "add", "log.txt")
    git(folder, "commit", "-q", "-m", "a log")
    before = code(folder)
    (folder / "log.txt").write_text("step 2\n")
    assert code(folder) == before


def test_another_interpreter_is_another_program_and_words_that_are_no_files_are_none(folder: Path) -> None:
    assert code(folder) != code(folder, "other/python")
    assert code_of(["python", "x" * 5000, "a\0b", "-m", "train"], folder, None)
    assert code_of(["python", "-m", "train"], folder / "nowhere", None)
    large = folder / "data.bin"
    large.touch()
    os.truncate(large, 2**40)
    assert code_of(["python", "train.py", str(large)], folder, None)


def test_the_gpus_that_may_be_seen_are_what_the_environment_says() -> None:
    assert visible_devices({"HOME": "/"}) == ""
    assert visible_devices({"CUDA_VISIBLE_DEVICES": "1"}) == "CUDA_VISIBLE_DEVICES=1"
    assert visible_devices({"CUDA_VISIBLE_DEVICES": ""}) != ""


def broken_off(folder: Path) -> None:
    """Leave a search behind that was broken off in the middle of a comparison."""
    plan = msgspec.structs.replace(PLAN, host=socket.gethostname(), command=COMMAND, cwd=str(folder))
    commit, dirty = commit_of(folder)
    began = msgspec.structs.replace(
        sitting(),
        commit=commit,
        dirty=dirty,
        versions=versions_of(sys.executable),
        code=code_of(COMMAND, folder, sys.executable),
        devices=visible_devices(os.environ),
    )
    with open_search_ledger(ledger_path()) as ledger:
        ledger.begin_search(plan)
        ledger.add_entry(plan.search_id, began)
        ledger.add_entry(plan.search_id, measured(launch()))
        proposal = Proposal(set={"loader.num_workers": 4}, code="input.workers")
        ledger.add_entry(plan.search_id, Begun(comparison_id="c", purpose="trial", proposal=proposal))


def edit(folder: Path, _: pytest.MonkeyPatch) -> None:
    (folder / "train.py").write_text("a = 2\n")


def commit(folder: Path, _: pytest.MonkeyPatch) -> None:
    git(folder, "commit", "-q", "--allow-empty", "-m", "two")


def take_another_gpu(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (None, None),
        (edit, "the script, its versions or the interpreter are other ones now"),
        (commit, "the commit is another one now"),
        (take_another_gpu, "other GPUs are visible now (all then, CUDA_VISIBLE_DEVICES=1 now)"),
    ],
)
def test_a_search_that_is_taken_up_with_another_program_says_so(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    act: Callable[[Path, pytest.MonkeyPatch], None] | None,
    told: str | None,
) -> None:
    broken_off(folder)
    if act is not None:
        act(folder, monkeypatch)
    with pytest.raises(Refused, match="nothing was launched"):
        tune_verb(Asked(resume=""), lambda _: "n")
    said = capsys.readouterr().err
    assert "broken off in the middle of a comparison" in said
    assert ("no launch of then is compared with one of now" in said) == (told is not None)
    assert told is None or told in said
