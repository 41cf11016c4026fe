"""A person's own keys: an action's name to the keys that are to do it, and what cannot be together. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType

from textual.binding import Binding, BindingType

from perftui.tui.key_contexts import CONTEXTS, bindings_of, every_binding
from perftui.tui.key_names import shown_key, written_key

Keys = Mapping[str, tuple[str, ...]]
"""Ids of actions, each with its keys as the framework names them; what is missing keeps its own."""
NO_CHANGE: Keys = MappingProxyType({})
_Meeting = tuple[str, str, str, str]
"""Context, key, and the ids of two actions that are on it there."""


def action_ids() -> list[str]:
    """Return the names of all actions, in the tables' order."""
    return list(dict.fromkeys(each.id for each in every_binding() if each.id))


def with_keys(binding: Binding, keys: Keys) -> Binding:
    """Return a binding with a person's own keys on it."""
    own = keys.get(binding.id or "")
    return binding if own is None else replace(binding, key=",".join(own), key_display=None)


def table_with_keys(table: Sequence[BindingType], keys: Keys) -> list[Binding]:
    """Return a table's bindings with a person's own keys on them."""
    return [with_keys(each, keys) for each in bindings_of([table])]


def display(binding: Binding) -> str:
    """Return what the line of keys shows for a binding."""
    return binding.key_display or shown_key(binding.key.split(",")[0])


def key_names(keys: Keys = NO_CHANGE) -> Mapping[str, str]:
    """Return what each action's first key looks like on the screen, by its id; the first table counts."""
    names: dict[str, str] = {}
    for binding in every_binding():
        own = with_keys(binding, keys)
        names.setdefault(binding.id or "", shown_key(own.key.split(",")[0]))
    return MappingProxyType(names)


KEY_NAMES = key_names()


def keys_in_force(keys: Keys = NO_CHANGE) -> Mapping[str, tuple[str, ...]]:
    """Return the keys of every action, as people write them; the first table counts."""
    found: dict[str, tuple[str, ...]] = {}
    for binding in every_binding():
        written = tuple(written_key(key) for key in with_keys(binding, keys).key.split(","))
        found.setdefault(binding.id or "", written)
    return found


def without_clashes(keys: Keys) -> tuple[Keys, list[tuple[str, str]]]:
    """Return the changes that can be together, and (id, why) for each that cannot.

    Two actions on one key of one screen clash, unless they are so by default, where one shadows the other on
    purpose. Both changes are left out where two were changed to one key; leaving one out may bring its own
    key back into the way of another, so it is looked at again.
    """
    left = dict(keys)
    clashes: list[tuple[str, str]] = []
    meant = _meetings(NO_CHANGE)
    while True:
        found = [each for each in _meetings(left) if each not in meant]
        wrong: dict[str, str] = {}
        for where, key, one, other in found:
            for id_, against in ((one, other), (other, one)):
                if id_ in left:
                    wrong.setdefault(id_, f"`{written_key(key)}` is {against} on {where}")
        if not wrong:
            return left, clashes
        for id_, why in wrong.items():
            del left[id_]
            clashes.append((id_, why))


def _meetings(keys: Keys) -> list[_Meeting]:
    """Return each two actions that are on one key of one screen."""
    met: list[_Meeting] = []
    for where, tables in CONTEXTS.items():
        ids: dict[str, list[str]] = {}
        for binding in bindings_of(tables):
            for key in with_keys(binding, keys).key.split(","):
                there = ids.setdefault(key, [])
                if binding.id and binding.id not in there:
                    there.append(binding.id)
        met += [(where, key, *pair) for key, there in ids.items() for pair in combinations(there, 2)]
    return met
