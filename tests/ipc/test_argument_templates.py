"""Arguments of scripts: what a mapping may be, and where its value goes in a command."""

import pytest

from perftui.ipc.argument_templates import (
    ArgumentTemplate,
    checked_template,
    parse_mapping,
    tokens_of,
    with_argument,
)
from perftui.ipc.errors import UsageError


def test_a_mapping_is_taken_apart() -> None:
    assert parse_mapping("batch_size=--batch-size {value}") == (
        "batch_size",
        ArgumentTemplate("--batch-size {value}", "changes-training"),
    )
    assert parse_mapping("every:neutral=trainer.every={value}") == (
        "every",
        ArgumentTemplate("trainer.every={value}", "neutral"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "batch_size",
        "=--b {value}",
        "b=",
        "b=--b",
        "b={value}",
        "b=--b {value} {value}",
        "b={value} --b",
        "b=--b {value} more",
        "b=--b 'x {value}",
        "b:quick=--b {value}",
        "b c=--b {value}",
    ],
)
def test_what_is_no_mapping(text: str) -> None:
    with pytest.raises(UsageError):
        parse_mapping(text)


@pytest.mark.parametrize(
    ("template", "command", "expected"),
    [
        ("--bs {value}", "python a.py", "python a.py --bs 8"),
        ("--bs={value}", "python a.py", "python a.py --bs=8"),
        ("--bs {value}", "python a.py --bs 4 --lr 1", "python a.py --bs 8 --lr 1"),
        ("--bs {value}", "python a.py --bs=4 --lr 1", "python a.py --bs=8 --lr 1"),
        ("--bs={value}", "python a.py --bs 4 --lr 1", "python a.py --bs 8 --lr 1"),
        ("--bs {value}", "python a.py --bs 2 --bs 4", "python a.py --bs 2 --bs 8"),
        ("--bs {value}", "python a.py --bs", "python a.py --bs 8"),
        ("--bs {value}", "python a.py --bsx 4", "python a.py --bsx 4 --bs 8"),
        ("train.bs={value}", "python a.py train.bs=4 x=1", "python a.py train.bs=8 x=1"),
        ("train.bs={value}", "python a.py", "python a.py train.bs=8"),
    ],
)
def test_the_value_goes_where_it_stood_last_or_to_the_end(template: str, command: str, expected: str) -> None:
    found = with_argument(command.split(), checked_template("bs", template, "changes-training"), "8")
    assert found == expected.split()


def test_values_are_words_and_never_shell() -> None:
    template = checked_template("name", "--name {value}", "neutral")
    assert tokens_of(template, "a b; rm -rf /") == ["--name", "a b; rm -rf /"]
    assert with_argument(["x"], template, "{value}") == ["x", "--name", "{value}"]
