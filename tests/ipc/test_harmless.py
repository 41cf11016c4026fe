"""Foreign text that steers no terminal, and JSON that says the same as before."""

import json

import pytest

from perftui.ipc.harmless import harmless, harmless_json, one_line

HOSTILE = "a\x1b[31mb\x9b2Jc\x07d\u202ee\u200bf\x7fg\rh"


def test_what_steers_is_marked_and_the_length_stays() -> None:
    assert harmless(HOSTILE) == "a\ufffd[31mb\ufffd2Jc\ufffdd\ufffde\ufffdf\ufffdg\ufffdh"
    assert len(harmless(HOSTILE)) == len(HOSTILE)


def test_lines_and_tabs_stay_but_on_one_line() -> None:
    assert harmless("a\tb\nc") == "a\tb\nc"
    assert one_line("a\tb\nc\x1b") == "a b c\ufffd"


@pytest.mark.parametrize("text", ["plain", "größer — 12 µs █▌", "日本語", "emoji 🙂", "[bold]x[/]"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert harmless(text) == one_line(text) == text


def test_json_says_the_same_without_steering() -> None:
    text = json.dumps({"name": HOSTILE, "größe": "µ"}, ensure_ascii=False)
    safe = harmless_json(text)
    assert json.loads(safe) == json.loads(text)
    assert not any(mark in safe for mark in "\x1b\x9b\u202e\u200b\x7f")
    assert "µ" in safe
