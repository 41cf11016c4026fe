"""Keys as people write them and as the framework names them, and which of them can be together."""

import string

import pytest
from textual.keys import _character_to_key  # pyright: ignore[reportPrivateUsage]

from perftui.tui.key_contexts import CONTEXTS, bindings_of, every_binding
from perftui.tui.key_map import NO_CHANGE, key_names, keys_in_force, with_keys, without_clashes
from perftui.tui.key_names import key_from, shown_key, written_key


def test_every_character_has_the_name_that_the_framework_gives_it() -> None:
    for character in string.punctuation + string.ascii_letters + string.digits + "éß":
        key = key_from(character)
        assert key == _character_to_key(character)
        assert key is not None
        assert shown_key(key) == written_key(key) == character


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("esc", "escape"), ("Enter", "enter"), ("page_up", "pageup"), ("space", "space"), (" ", "space"),
        ("ctrl+S", "ctrl+s"), ("Ctrl+s", "ctrl+s"), ("alt+x", "alt+x"), ("shift+tab", "shift+tab"),
        ("shift+left", "shift+left"), ("ctrl+up", "ctrl+up"), ("f12", "f12"),
        ("question_mark", "question_mark"),
    ],
)  # fmt: skip
def test_keys_may_be_written_in_several_ways(word: str, key: str) -> None:
    assert key_from(word) == key


@pytest.mark.parametrize(
    "word", ["", "stop", "f13", "ctrl+h", "ctrl+m", "ctrl+[", "shift+a", "ctrl+shift+x", "a,b", "\x1b", "++"]
)
def test_what_no_terminal_sends_alone_is_no_key(word: str) -> None:
    assert key_from(word) is None


def test_every_default_key_is_one_that_a_person_could_have_written() -> None:
    for binding in every_binding():
        for key in binding.key.split(","):
            assert key_from(written_key(key)) == key, binding


def test_keys_look_like_keys() -> None:
    assert [shown_key(key) for key in ("ctrl+s", "escape", "up", "f5", "shift+left", "alt+x")] == [
        "^s", "esc", "↑", "f5", "shift+←", "alt+x",
    ]  # fmt: skip
    assert key_names({"stop": ("ctrl+x",)})["stop"] == "^x"
    assert key_names()["detach"] == "q"
    assert keys_in_force({"down": ("n",)})["down"] == ("n",)


def test_an_action_has_its_own_keys_on_every_screen_that_has_it() -> None:
    changed = {"down": ("n",), "back": ("b",)}
    seen = {"down": 0, "back": 0}
    for tables in CONTEXTS.values():
        for binding in bindings_of(tables):
            if binding.id in seen:
                seen[binding.id] += 1
                assert with_keys(binding, changed).key == changed[binding.id][0]
    assert min(seen.values()) >= 8


def test_what_shadows_another_on_purpose_is_no_clash() -> None:
    assert without_clashes(NO_CHANGE) == ({}, [])
    assert without_clashes({"back": ("q",)}) == ({"back": ("q",)}, [])
    assert without_clashes({"back": ("b",)}) == ({"back": ("b",)}, [])


def test_a_key_given_up_is_free_and_one_taken_back_is_not() -> None:
    moved = {"stop": ("z",), "freeze": ("s",)}
    assert without_clashes(moved) == (moved, [])
    left, clashes = without_clashes({"stop": ("o",), "freeze": ("s",)})
    assert left == {}
    assert [name for name, _ in clashes] == ["stop", "freeze"]


def test_no_two_actions_of_one_screen_share_a_key_by_default_unless_one_shadows_the_other() -> None:
    for where, tables in CONTEXTS.items():
        for table in tables:
            keys = [key for binding in bindings_of([table]) for key in binding.key.split(",")]
            assert len(keys) == len(set(keys)), where
