"""The page's arithmetic: what is chosen, what is in view, and what a key does to both."""

from perftui.tui.renderables.lines import line, plain
from perftui.tui.renderables.page import (
    Block,
    chosen,
    page_body,
    position,
    rule,
    scrolled_to,
    stepped,
    turned,
)


def block(key: str, lines: int) -> Block:
    return Block(key, tuple(line(f"{key or 'heading'} {number}") for number in range(lines)))


BLOCKS = [block("", 2), block("a", 3), block("b", 20), block("", 1), block("c", 2), block("", 4)]


def test_headings_cannot_be_chosen() -> None:
    assert chosen(BLOCKS, "") == 1
    assert chosen(BLOCKS, "gone") == 1
    assert chosen(BLOCKS, "c") == 4
    assert chosen([block("", 3)], "a") is None
    assert chosen([], "") is None


def test_down_goes_through_a_high_block_line_by_line_and_then_on() -> None:
    key, top = "", 0
    seen: list[tuple[str, int]] = []
    for _ in range(40):
        key, top = stepped(BLOCKS, key, top, 10, 1)
        seen.append((key, top))
    assert seen[0] == ("b", 5)
    assert seen[10] == ("b", 15)
    assert seen[11] == ("c", 18)
    assert seen[-1] == ("c", 22)


def test_up_comes_back_to_the_heading_above_the_first() -> None:
    key, top = "c", 22
    for _ in range(60):
        key, top = stepped(BLOCKS, key, top, 10, -1)
    assert (key, top) == ("a", 0)


def test_a_page_without_anything_to_choose_scrolls() -> None:
    text = [block("", 30)]
    assert stepped(text, "", 0, 10, 1) == ("", 1)
    assert stepped(text, "", 20, 10, 1) == ("", 20)
    assert turned(text, "", 0, 10, 1) == ("", 9)
    assert turned(text, "", 15, 10, 1) == ("", 20)
    assert turned(text, "", 3, 10, -1) == ("", 0)


def test_a_page_turn_chooses_what_is_in_view() -> None:
    rows = [block(f"row{number}", 1) for number in range(50)]
    assert turned(rows, "row0", 0, 10, 1) == ("row9", 9)
    assert turned(rows, "row9", 9, 10, -1) == ("row0", 0)
    assert turned(rows, "row40", 40, 10, 1) == ("row49", 40)


def test_the_view_moves_no_further_than_it_must() -> None:
    assert scrolled_to(BLOCKS, 1, 0, 10) == 0
    assert scrolled_to(BLOCKS, 4, 0, 10) == 18
    assert scrolled_to(BLOCKS, 4, 19, 10) == 19
    assert scrolled_to(BLOCKS, 1, 99, 100) == 0


def test_the_chosen_block_has_a_bar_on_each_of_its_lines() -> None:
    drawn = [plain(part) for part in page_body(BLOCKS, 1, 1, 5)]
    assert drawn == ["  heading 1", "┃ a 0", "┃ a 1", "┃ a 2", "  b 0"]


def test_the_rule_fills_the_width_and_keeps_what_is_out_of_view() -> None:
    for width in (20, 40, 80, 120):
        drawn = plain(rule(line("findings 3"), position(BLOCKS, 3, 10), width))
        assert len(drawn) == width
    assert plain(position(BLOCKS, 3, 10)) == "↑3 ↓19 more"
    assert plain(position(BLOCKS, 0, 40)) == ""
