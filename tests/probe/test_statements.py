"""The statement that a line belongs to, by the brackets it stands in."""

from pathlib import Path

import pytest

from perftui.trainer.probe.source_lines import statement_at

_TEXT = """\
def tell(step):
    log.info("a ( that is none")  # nor is this (
    counts = histogram(tensor, 64)
    log.info(
        json.dumps(
            {
                "step": step,
                "values": values.tolist()[:20000],
            }
        )
    )
    total = sum(
        values
    )
    return total


print(
    tell(1),
)
"""


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        (3, "counts = histogram"),
        (4, "log.info("),
        (5, "log.info("),
        (8, "log.info("),
        (13, "total = sum("),
        (15, "return total"),
        (19, "print("),
    ],
)
def test_the_statement_begins_where_its_outermost_bracket_opens(
    line: int, begins: str, tmp_path: Path
) -> None:
    file = tmp_path / "train.py"
    file.write_text(_TEXT)
    statement = statement_at(str(file), line)
    assert statement.lstrip().startswith(begins)
    assert _TEXT.splitlines()[line - 1].strip() in statement


def test_what_cannot_be_read_is_empty(tmp_path: Path) -> None:
    assert statement_at(str(tmp_path / "none.py"), 3) == ""
