"""What a rank's time went to, as a line: phases with their shares, the longest first. Pure."""

from typing import Any

_LEAST_SHARE = 0.005
_WORDS = {"between": "between epochs"}


def phase_lines(ranks: list[dict[str, Any]]) -> list[str]:
    """Return a line for each rank of a summary that has told its phases, after an empty one."""
    lines: list[str] = []
    for rank in ranks:
        seconds: dict[str, float] = rank.get("phases_s") or {}
        total = sum(seconds.values())
        if total <= 0:
            continue
        ordered = sorted(seconds.items(), key=lambda item: -item[1])
        shown = [
            f"{_WORDS.get(phase, phase)} {spent:.1f} s ({spent / total:.0%})"
            for phase, spent in ordered
            if spent / total >= _LEAST_SHARE
        ]
        head = f"rank {rank['rank']} time: " if len(ranks) > 1 else "time      "
        lines.append(head + " · ".join(shown))
    return ["", *lines] if lines else []
