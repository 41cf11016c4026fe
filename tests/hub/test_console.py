"""Output is data: nothing in it may draw on the screen or grow without bound."""

from pathlib import Path

import pytest

from perftui.trainer.hub.console import OutputTail, plain


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r20%\r30%", "30%"),
        ("ends with return\r", "ends with return"),
        ("a\tb", "a    b"),
        ("bell\x07null\x00", "bellnull"),
        ("\x9b31mhigh", "high"),
        ("\x1b(Bcharset", "charset"),
        ("[bold]markup[/]", "[bold]markup[/]"),
        ("right\u202eleft\u200b\ufeff", "rightleft"),
        ("", ""),
    ],
)
def test_lines_are_made_harmless(raw: str, shown: str) -> None:
    assert plain(raw) == shown


def test_a_line_of_ten_megabytes_is_cut() -> None:
    assert len(plain("x" * 10_000_000)) == 2000


@pytest.mark.parametrize("piece", ["\x1b]", "\x1b]0;", "\x1bP1", "\x1b[0;", "\x9b"])
def test_a_line_of_unfinished_escapes_costs_no_more_than_its_length(piece: str) -> None:
    assert len(plain(piece * 200_000)) <= 2000


def test_a_character_that_is_written_in_two_parts_is_shown_whole(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    tail = OutputTail(path)
    bar = "█▌ 50 %\n".encode()
    path.write_bytes(bar[:1])
    tail.read()
    with path.open("ab") as stream:
        stream.write(bar[1:])
    tail.read()
    assert tail.since(0)[0] == ["█▌ 50 %"]


def test_tail_numbers_lines_and_shows_the_unfinished_one_apart(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    tail = OutputTail(path)
    assert not tail.read()
    path.write_bytes(b"one\r\ntwo\nthr")
    assert tail.read()
    assert tail.since(0) == (["one", "two"], 2)
    assert tail.partial == "thr"
    with path.open("ab") as stream:
        stream.write(b"ee\n")
    assert tail.read()
    assert tail.since(2) == (["three"], 3)
    assert tail.partial == ""
    assert tail.last(2) == ["two", "three"]
    assert not tail.read()


def test_tail_follows_a_rotated_file(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(b"old\n")
    tail = OutputTail(path)
    tail.read()
    path.rename(tmp_path / "console.log.1")
    path.write_bytes(b"new\n")
    tail.read()
    assert tail.since(0)[0] == ["old", "new"]


def test_only_the_newest_thousand_lines_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(b"")
    tail = OutputTail(path)
    tail.read()
    path.write_bytes(b"".join(b"line %d\n" % i for i in range(5000)))
    while tail.read():
        pass
    lines, number = tail.since(0)
    assert number == 5000
    assert len(lines) == 1000
    assert lines[-1] == "line 4999"
