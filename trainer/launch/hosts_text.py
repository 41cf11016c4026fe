"""The hosts of a run as lines of text: how each is linked, and how far its clock is off. Pure."""

from collections.abc import Sequence
from typing import Any

_RANKS_SHOWN = 8


def links_lines(links: Sequence[dict[str, Any]]) -> list[str]:
    """Return one line a host of a run that has several; nothing for one on one host."""
    return [f"host      {_line(link)}" for link in links]


def _line(link: dict[str, Any]) -> str:
    words = {"lead": "leads", "joined": "joined", "left": "has left", "lost": "is not heard"}
    said = f"{link['host']} {words.get(link['state'], link['state'])}"
    if link["state"] == "lost":
        said += f" for {link['age_s']:.0f} s"
    if link["exit_code"] is not None:
        said += f", exit code {link['exit_code']}"
    ranks = link["ranks"]
    if ranks:
        more = " …" if len(ranks) > _RANKS_SHOWN else ""
        said += f", rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks[:_RANKS_SHOWN]))}{more}"
    if link["clock_offset_ms"] is not None and link["clock_error_ms"] is not None:
        said += f", clock {link['clock_offset_ms']:+.2f} ± {link['clock_error_ms']:.2f} ms"
    if link["dropped"]:
        said += f", {link['dropped']} entries lost"
    return said
