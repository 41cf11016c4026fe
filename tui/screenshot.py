"""A screen as an SVG file that needs nothing from elsewhere."""

import re
import time
from pathlib import Path

from perftui.tui.new_file import write_new

_FONT_FACE = re.compile(r"@font-face\s*\{[^}]*\}\s*")


def save_screenshot(svg: str, folder: Path, stem: str) -> Path:
    """Write a picture to a new file and return its path.

    The framework's pictures name fonts on a server; who opens one would ask that server. Any monospaced font
    does.

    Raises:
        Refused: the folder cannot be written.
    """
    return write_new(folder, stem, "svg", _FONT_FACE.sub("", svg))


def screenshot_stem() -> str:
    """Return a name with the time of now."""
    return time.strftime("perftui-%Y%m%d-%H%M%S")
