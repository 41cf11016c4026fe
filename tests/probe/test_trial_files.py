"""A trial writes, removes and renames as it likes: the user's folder stays as it was, byte for byte."""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import Hello, RankEvent
from tests.probe.trial_project import project, trial

__all__ = ["project", "trial"]

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

Picture = dict[str, tuple[int, int, str]]


def picture(folder: Path) -> Picture:
    """Return mode, time and content of all that is in a folder."""
    found: Picture = {}
    for path in sorted(folder.rglob("*")):
        if "__pycache__" in path.parts:
            continue
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_mtime_ns, content)
    status = folder.lstat()
    found["."] = (status.st_mode, status.st_mtime_ns, "")
    return found


CASES = {
    "write and read back": """
        Path("new.txt").write_text("one")
        assert Path("new.txt").read_text() == "one"
        assert os.path.exists("new.txt") and "new.txt" in os.listdir()
        assert os.stat("new.txt").st_size == 3
    """,
    "overwrite": """
        with open("config.json", "w") as f:
            f.write("{}")
        assert open("config.json").read() == "{}"
    """,
    "append": """
        with open("log.csv", "a") as f:
            f.write("1,0.5\\n")
        with open("log.csv", "a") as f:
            f.write("2,0.4\\n")
        assert open("log.csv").read() == "step,loss\\n0,1.0\\n1,0.5\\n2,0.4\\n"
    """,
    "update in place": """
        with open("log.csv", "r+") as f:
            f.seek(0)
            f.write("STEP")
        assert open("log.csv").read().startswith("STEP,loss")
    """,
    "exclusive": """
        try:
            open("config.json", "x")
        except FileExistsError:
            pass
        else:
            raise SystemExit("made twice")
        open("other.json", "x").close()
    """,
    "temporary file and replace": """
        for turn in range(3):
            Path("config.json.tmp").write_text(str(turn))
            os.replace("config.json.tmp", "config.json")
            assert Path("config.json").read_text() == str(turn)
            assert not Path("config.json.tmp").exists()
        assert sorted(os.listdir()) == ["best", "config.json", "latest", "log.csv", "runs"]
    """,
    "named temporary file beside the target": """
        import tempfile
        with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as f:
            f.write("x")
        os.replace(f.name, "config.json")
        assert Path("config.json").read_text() == "x"
        with tempfile.NamedTemporaryFile("w", dir="runs") as f:
            f.write("y")
    """,
    "remove": """
        os.remove("runs/old/best.pt")
        assert not os.path.exists("runs/old/best.pt")
        assert os.listdir("runs/old") == ["notes.txt"]
        for gone in ("open", "stat", "remove"):
            try:
                open("runs/old/best.pt") if gone == "open" else getattr(os, gone)("runs/old/best.pt")
            except FileNotFoundError:
                continue
            raise SystemExit(gone)
        Path("runs/old/best.pt").write_text("again")
        assert sorted(p.name for p in Path("runs/old").iterdir()) == ["best.pt", "notes.txt"]
        Path("runs/old/best.pt").unlink()
        assert not Path("runs/old/best.pt").exists()
        Path("runs/old/best.pt").unlink(missing_ok=True)
    """,
    "rotation": """
        import glob
        for step in range(6):
            Path(f"ckpt-{step}.pt").write_bytes(bytes([step]))
            for old in sorted(glob.glob("ckpt-*.pt"))[:-2]:
                os.remove(old)
        assert sorted(glob.glob("ckpt-*.pt")) == ["ckpt-4.pt", "ckpt-5.pt"]
        assert Path("ckpt-5.pt").read_bytes() == b"\\x05"
    """,
    "rotation with pathlib": """
        for step in range(4):
            Path(f"ckpt-{step}.pt").write_bytes(bytes([step]))
            for old in sorted(Path().glob("ckpt-*.pt"))[:-2]:
                old.unlink()
        assert sorted(path.name for path in Path().glob("ckpt-*.pt")) == ["ckpt-2.pt", "ckpt-3.pt"]
        Path("runs/old/best.pt").unlink()
        Path("runs/new").mkdir()
        Path("runs/new/a").touch()
        assert sorted(path.name for path in Path("runs").rglob("*")) == ["a", "new", "notes.txt", "old"]
        assert list(Path("runs").glob("*/a")) == [Path("runs/new/a")]
        assert not list(Path().glob("runs/old/best.pt"))
    """,
    "folders": """
        os.makedirs("runs/new/deep")
        Path("runs/new/deep/a").write_text("a")
        os.makedirs("runs/new/deep", exist_ok=True)
        try:
            os.mkdir("runs/old")
        except FileExistsError:
            pass
        assert sorted(os.listdir("runs")) == ["new", "old"]
        assert [sorted(f) for _, _, f in os.walk("runs/new")] == [[], ["a"]]
        try:
            os.rmdir("runs/old")
        except OSError:
            pass
        else:
            raise SystemExit("removed a folder that is not empty")
        try:
            Path("nowhere/x").write_text("x")
        except FileNotFoundError:
            pass
    """,
    "remove a tree": """
        shutil.rmtree("runs/old")
        assert not Path("runs/old").exists() and os.listdir("runs") == []
        os.makedirs("runs/old")
        assert os.listdir("runs/old") == []
        assert not Path("runs/old/best.pt").exists()
        Path("runs/old/x").write_text("x")
        shutil.rmtree("runs", ignore_errors=True)
        assert not Path("runs").exists()
    """,
    "move": """
        shutil.move("runs/old", "runs/kept")
        assert Path("runs/kept/best.pt").read_bytes() == b"precious"
        assert not Path("runs/old").exists()
        os.rename("log.csv", "log.old")
        assert Path("log.old").read_text().startswith("step")
        assert not Path("log.csv").exists()
        shutil.move("runs/kept", "archive")
        assert sorted(os.listdir("archive")) == ["best.pt", "notes.txt"]
    """,
    "copy": """
        shutil.copy("runs/old/best.pt", "copy.pt")
        shutil.copy2("runs/old/best.pt", "config.json")
        shutil.copytree("runs/old", "runs/twin")
        assert Path("copy.pt").read_bytes() == Path("config.json").read_bytes() == b"precious"
        assert sorted(os.listdir("runs/twin")) == ["best.pt", "notes.txt"]
    """,
    "links": """
        Path("best").write_bytes(b"through the link")
        assert Path("runs/old/best.pt").read_bytes() == b"through the link"
        Path("latest/extra").write_text("x")
        assert Path("runs/old/extra").read_text() == "x"
        os.remove("latest")
        os.makedirs("runs/new")
        os.symlink("runs/new", "latest")
        Path("latest/a").write_text("a")
        assert Path("runs/new/a").read_text() == "a"
        os.symlink("runs/old", "again")
        Path("again/notes.txt").write_text("altered")
        assert Path("again/notes.txt").read_text() == "altered"
        os.symlink("log.csv", "log")
        with open("log", "a") as f:
            f.write("more")
        os.link("config.json", "hard.json")
        Path("hard.json").write_text("other")
        assert Path("config.json").read_text() == '{"a": 1}'
    """,
    "attributes": """
        os.chmod("config.json", 0o600)
        os.utime("log.csv")
        os.truncate("runs/old/best.pt", 3)
        assert Path("runs/old/best.pt").read_bytes() == b"pre"
        Path("log.csv").touch()
        Path("touched").touch()
        os.chmod("runs", 0o700)
    """,
    "descriptors": """
        fd = os.open("log.csv", os.O_WRONLY | os.O_APPEND)
        os.write(fd, b"tail")
        os.close(fd)
        assert Path("log.csv").read_text().endswith("tail")
        fd = os.open("fresh", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        os.close(fd)
        folder = os.open("runs/old", os.O_RDONLY)
        os.unlink("best.pt", dir_fd=folder)
        os.close(folder)
        assert os.listdir("runs/old") == ["notes.txt"]
        with open("/dev/null", "w") as f:
            f.write("x")
        r, w = os.pipe()
        with open(w, "w") as f:
            f.write("x")
    """,
    "libraries": """
        import csv, json, logging, pickle, zipfile
        import numpy as np
        np.save("array.npy", np.arange(3))
        assert np.load("array.npy").tolist() == [0, 1, 2]
        np.arange(3).tofile("log.csv")
        with zipfile.ZipFile("a.zip", "w") as z:
            z.write("config.json")
        with open("config.json", "w") as f:
            json.dump({"b": 2}, f)
        with open("log.csv", "w", newline="") as f:
            csv.writer(f).writerow([1])
        logging.basicConfig(filename="log.csv", level=logging.INFO)
        logging.info("hello")
        logging.shutdown()
        assert "hello" in open("log.csv").read()
        with open("p.pkl", "wb") as f:
            pickle.dump(1, f)
    """,
    "another process sees it": """
        import subprocess, sys
        Path("new.txt").write_text("one")
        os.remove("log.csv")
        code = "import os; print(open('new.txt').read(), os.path.exists('log.csv'))"
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert out == "one False\\n", out
    """,
    "change of folder": """
        os.chdir("runs/old")
        Path("best.pt").write_text("x")
        Path("../../log.csv").write_text("y")
        assert Path("best.pt").read_text() == "x"
        os.chdir("..")
        os.makedirs("fresh")
        os.chdir("fresh")
        Path("here").write_text("z")
        assert Path("here").read_text() == "z"
    """,
    "trackers and seed": """
        import random
        import numpy
        assert os.environ["WANDB_MODE"] == "offline"
        a = (random.random(), float(numpy.random.random()))
        random.seed(7), numpy.random.seed(7)
        assert a == (random.random(), float(numpy.random.random()))
    """,
}


@pytest.mark.parametrize("case", CASES)
def test_the_users_folder_is_unchanged(
    trial: Callable[[str], "subprocess.CompletedProcess[str]"], project: Path, case: str
) -> None:
    before = picture(project)
    done = trial(CASES[case])
    assert done.stderr == ""
    assert done.returncode == 0
    assert picture(project) == before


def test_without_a_scratch_folder_nothing_runs(hub: "Hub") -> None:
    hub.apply(trial=True)
    done = subprocess.run(
        [sys.executable, "-c", "print('ran')"],
        env=hub.environment(PERFTUI_TRIAL="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 70
    assert done.stdout == ""
    assert "cannot protect your files" in done.stderr


TRAINING = """
import csv, json, os, random, shutil, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

print("draws", random.random(), torch.rand(1).item())
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = TensorDataset(torch.randn(32, 4), torch.randint(2, (32,)))
kept = []
for step, (x, y) in enumerate(DataLoader(data, batch_size=4, num_workers=1)):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    name = f"runs/step-{step}.pt"
    torch.save(model.state_dict(), name)
    torch.save({"step": step}, "runs/old/best.pt")
    assert torch.load("runs/old/best.pt")["step"] == step
    again = torch.load(name, mmap=True)
    assert torch.equal(again["weight"], model.weight)
    kept.append(name)
    if len(kept) > 2:
        os.remove(kept.pop(0))
    torch.save(step, "last.tmp")
    os.replace("last.tmp", "last.pt")
    with open("log.csv", "a") as f:
        csv.writer(f).writerow([step, loss.item()])
    shutil.copy("last.pt", "runs/last-copy.pt")
torch.jit.save(torch.jit.trace(model, x), "model.ts")
torch.jit.load("model.ts")
print(sorted(os.listdir("runs")), len(open("log.csv").readlines()))
"""


@pytest.mark.torch
@pytest.mark.slow
def test_a_training_that_saves_at_every_step(hub: "Hub", project: Path) -> None:
    script = project / "train.py"
    script.write_text(TRAINING)
    before = picture(project)
    hub.work = project
    environment = hub.environment(PERFTUI_TRIAL="1", PYTHONWARNINGS="ignore")
    outcome = hub.run([sys.executable, "train.py"], environment)
    (project / "out").unlink()
    (project / "err").unlink()
    assert outcome.stderr == ""
    assert outcome.exit_code == 0
    after = picture(project)
    before["."] = after["."]  # the test's own two files came and went
    assert after == before
    assert outcome.stdout.splitlines()[-1] == ("['last-copy.pt', 'old', 'step-6.pt', 'step-7.pt'] 10")
    assert outcome.of(Hello)[0].trial
    assert outcome.steps() == 8
    written = {Path(event.text).name for event in outcome.of(RankEvent) if event.event == "written"}
    assert {"log.csv", "last.pt", "best.pt", "step-7.pt", "model.ts", "last-copy.pt"} <= written
