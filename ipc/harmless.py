"""Foreign text for a terminal: what others have named, printed or raised is text, and steers nothing.

Control characters of both sets (ESC and CSI among them) begin what terminals obey; marks of direction and of
no width make text look like other text. Pure, standard library alone.
"""

import re

STEERING = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
"""Of a character class: everything that steers, but for the tab and the line feed."""
_STEERS = re.compile(f"[{STEERING}]")
_BREAKS = re.compile(r"[\t\n]")
_NOT_ESCAPED = re.compile(r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_MARK = "\ufffd"


def harmless(text: str) -> str:
    """Return text, lines and tabs kept, with a mark in place of each character that steers."""
    return _STEERS.sub(_MARK, text)


def one_line(text: str) -> str:
    """Return text as one line of the same length."""
    return _BREAKS.sub(" ", harmless(text))


def harmless_json(text: str) -> str:
    """Return JSON with its steering characters escaped, which says the same."""
    return _NOT_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
