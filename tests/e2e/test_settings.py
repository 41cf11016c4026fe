"""Settings on the command line: in force, told where they are not, and refused before anything starts."""

import json
import sys
from typing import Any

import pytest

from tests.waiting import wait_until

from .conftest import Desk
from .scripts import STARVED

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.long]
ARGUMENTS = ("60", "0", "0")


def run(desk: Desk, *options: str, arguments: tuple[str, ...] = ARGUMENTS) -> tuple[dict[str, Any], str]:
    script = desk.script(STARVED)
    done = desk.perftui(
        "run", "--no-tui", *options, "--json", "summary.json", "--", sys.executable, str(script), *arguments
    )
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads((desk.folder / "summary.json").read_text())
    assert script.read_text() == STARVED
    return summary, done.stderr


def test_what_is_in_force_and_what_is_not(desk: Desk) -> None:
    wanted = {"compile.backend": "eager", "gc.freeze": True, "precision.tf32": True}
    options = [word for name, value in wanted.items() for word in ("--set", f"{name}={str(value).lower()}")]
    summary, stderr = run(desk, *options)
    reason = "precision.tf32 could not be applied: the training runs on cpu: TF32 is a format of NVIDIA GPUs"
    assert f"perftui: {reason}" in stderr
    (rank,) = summary["ranks"]
    assert summary["settings"] == wanted
    assert rank["settings"]["compile.backend"] == "eager"
    assert rank["settings"]["gc.freeze"] is True
    assert list(rank["settings_failed"]) == ["precision.tf32"]
    assert reason.replace("tf32 could", "tf32=true could") in summary["message"]
    assert reason.partition(" could")[2] in desk.perftui("status", summary["run_id"]).stdout


def test_arguments_of_the_script_by_a_template(desk: Desk) -> None:
    (desk.folder / "perftui.toml").write_text('[arguments]\nonly = "--only {value}"\n')
    printing = "\nprint('argv', sys.argv[4:])\n"
    script = desk.script(STARVED.replace("sys.exit(code)", f"{printing}sys.exit(code)"))
    done = desk.perftui(
        "run", "--no-tui", "--json", "summary.json", "--map", "depth:neutral=--depth={value}",
        "--set", "arg.depth=3", "--set", "arg.only=x y",
        "--", sys.executable, str(script), *ARGUMENTS, "--depth", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "argv ['--depth', '3', '--only', 'x y']" in done.stdout
    summary = json.loads((desk.folder / "summary.json").read_text())
    assert summary["command"][-2:] == ["--depth", "1"], "the command stays what the user wrote"
    (rank,) = summary["ranks"]
    assert {name: rank["settings"][name] for name in ("arg.depth", "arg.only")} == {
        "arg.depth": "3",
        "arg.only": "x y",
    }
    assert rank["settings_failed"] == {}


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (
            ["--set", "precision.tf32=true", "--set", "precision.autocast=bf16"],
            4,
            "exclude each other: under",
        ),
        (["--set", "torchrun.nproc_per_node=2"], 4, "is none of torchrun"),
        (["--set", "arg.batch=2"], 2, "does not know how the script takes it"),
        (["--map", "batch=--batch"], 2, "is no template"),
        (["--set", "compile.mode=fast"], 2, "expected one of off, default, reduce-overhead"),
    ],
)
def test_what_cannot_be_starts_nothing(desk: Desk, options: list[str], code: int, words: str) -> None:
    script = desk.script(STARVED)
    done = desk.perftui("run", "--no-tui", *options, "--", sys.executable, str(script), *ARGUMENTS)
    assert done.returncode == code
    assert words in done.stderr
    assert desk.runs() == []


def test_a_trial_fails_with_the_reason_and_what_is_impossible_is_refused(desk: Desk) -> None:
    script = desk.script(STARVED)
    desk.start("run", "--no-tui", "--", sys.executable, str(script), "100000", "0", "0.002")
    run_id = desk.live_run()
    wait_until(lambda: "facts" in (desk.status(run_id).get("ranks") or [{}])[0], "the rank tells facts")
    wait_until(lambda: desk.status(run_id)["ranks"][0]["facts"]["model"] is not None, "the model is read")
    refused = desk.perftui("relaunch", run_id, "--set", "layout.channels_last=true", "--yes")
    assert refused.returncode == 4
    assert "the model has no tensor of four dimensions" in refused.stderr
    assert desk.live_run() == run_id
    done = desk.perftui(
        "relaunch", run_id, "--set", "compile.backend=nowhere", "--yes", "--json", timeout=600
    )
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)["relaunch"]
    assert document["verdict"]["verdict"] == "failed"
    assert "compile.backend=nowhere could not be applied: torch.compile refused it" in document["message"]
    wait_until(lambda: desk.steps(document["successor"]) > 20, "the original trains again")
    assert desk.status(document["successor"])["settings"] == {}
