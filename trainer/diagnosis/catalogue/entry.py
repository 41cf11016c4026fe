"""The shape of an entry."""

from dataclasses import dataclass

from perftui.ipc.settings import Semantics


@dataclass(frozen=True)
class Report:
    """A public report of the same trouble."""

    what: str
    url: str


@dataclass(frozen=True)
class Entry:
    """One code."""

    code: str
    title: str
    """What it says, in one sentence."""
    seen: str
    """What the user sees without perftui."""
    signals: tuple[str, ...]
    """What it is told from, the telling one first."""
    why: str
    do: str
    """What to do."""
    semantics: Semantics
    """What the remedy does to the training's numbers."""
    against: str = ""
    """What speaks against the remedy, or what looks the same."""
    reports: tuple[Report, ...] = ()
    demo: str | None = None
    """Name of the demonstration that shows it."""


def report(what: str, url: str) -> Report:
    """Return a report; `url` below github.com may be written from the owner on."""
    return Report(what, url if "://" in url else f"https://github.com/{url}")
