"""What is started for a command with settings, and where a project says how its script takes arguments."""

from pathlib import Path

import pytest

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.errors import Refused, UsageError
from perftui.trainer.launch.altered_command import altered_command, argument_words
from perftui.trainer.launch.project_file import mapped_arguments
from perftui.trainer.launch.spec import LaunchSpec

BATCH = {"batch_size": ArgumentTemplate("--batch-size {value}")}


def test_ranks_and_arguments_are_written_into_the_command() -> None:
    spec = LaunchSpec(
        command=["torchrun", "train.py", "--batch-size=4"],
        cwd=Path.cwd(),
        settings={"torchrun.nproc_per_node": 2, "arg.batch_size": "8", "loader.num_workers": 1},
        arguments=BATCH,
    )
    assert altered_command(spec) == ["torchrun", "--nproc-per-node=2", "train.py", "--batch-size=8"]
    assert argument_words(spec) == {"arg.batch_size": ["--batch-size", "8"]}
    assert spec.command == ["torchrun", "train.py", "--batch-size=4"]


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"torchrun.nproc_per_node": 2}, Refused, "is none of torchrun"),
        ({"arg.lr": "1"}, UsageError, r"does not know how the script takes it \(mapped: batch_size\)"),
        (
            {"precision.tf32": True, "precision.autocast": "bf16"},
            Refused,
            "exclude each other: under autocast",
        ),
        ({"optimizer.fused": True, "optimizer.foreach": True}, Refused, "one of the two implementations"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    settings: dict[str, bool | int | str | None], error: type[Exception], words: str
) -> None:
    spec = LaunchSpec(command=["python", "train.py"], cwd=Path.cwd(), settings=settings, arguments=BATCH)
    with pytest.raises(error, match=words):
        altered_command(spec)


def test_the_nearest_project_file_counts_and_options_win(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[tool.perftui.arguments]\nlr = "--lr {value}"\n'
        'every = { template = "log.every={value}", semantics = "neutral" }\n'
    )
    expected = {
        "lr": ArgumentTemplate("--lr {value}"),
        "every": ArgumentTemplate("log.every={value}", "neutral"),
    }
    assert mapped_arguments(inner) == expected
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    assert mapped_arguments(inner) == expected
    (inner / "perftui.toml").write_text('[arguments]\nbatch_size = "--batch-size {value}"\n')
    assert mapped_arguments(inner) == BATCH
    assert mapped_arguments(inner, ["batch_size=-b {value}"]) == {
        "batch_size": ArgumentTemplate("-b {value}")
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[arguments", "perftui.toml"),
        ("arguments = 3", "is no table"),
        ("[arguments]\nlr = 3", r"arguments\.lr is 3"),
        ('[arguments]\nlr = "--lr"', "is no template"),
        ('[arguments]\nlr = { semantics = "neutral" }', "takes template and semantics"),
        ('[arguments]\nlr = { template = "--lr {value}", semantics = "fine" }', "semantics 'fine'"),
        ('[arguments]\nlr = { template = "--lr {value}", kind = "x" }', "takes template and semantics"),
    ],
)
def test_a_project_file_that_says_nothing_sensible(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "perftui.toml").write_text(text)
    with pytest.raises(UsageError, match=words):
        mapped_arguments(tmp_path)
