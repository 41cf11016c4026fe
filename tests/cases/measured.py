"""What the stopwatch said of the cases, kept beside the catalogue in `truth.json`."""

from pathlib import Path

import msgspec

TRUTHS = Path(__file__).parent / "truth.json"


class Truth(msgspec.Struct, frozen=True):
    """How much of a step goes when its script is mended.

    Args:
        step_ms: mean step as the script is, on the clock; None: never measured.
        wall_share: share of it that goes. A host with other work makes it uncertain.
        cpu_share: the same for the processor time of all the script's processes, which other work hardly
            touches; it says nothing of time spent waiting.
    """

    step_ms: float | None = None
    wall_share: float | None = None
    cpu_share: float | None = None

    @property
    def share(self) -> float | None:
        """Return the larger of the two: a cause is one of waiting or one of work."""
        known = [share for share in (self.wall_share, self.cpu_share) if share is not None]
        return max(known, default=None)


def read_truths(path: Path = TRUTHS) -> dict[str, Truth]:
    """Return what was measured, by case."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Truth]) if path.exists() else {}


def write_truths(path: Path, truths: dict[str, Truth]) -> None:
    """Write all of it, readable."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted(truths.items()))), indent=1) + b"\n")
