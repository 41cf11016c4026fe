"""How keys are written: by people (`?`, `ctrl+s`, `pageup`) and by the framework (`question_mark`)."""

_PUNCTUATION = {
    "!": "exclamation_mark",
    '"': "quotation_mark",
    "#": "number_sign",
    "$": "dollar_sign",
    "%": "percent_sign",
    "&": "ampersand",
    "'": "apostrophe",
    "(": "left_parenthesis",
    ")": "right_parenthesis",
    "*": "asterisk",
    "+": "plus",
    ",": "comma",
    "-": "minus",
    ".": "full_stop",
    "/": "slash",
    ":": "colon",
    ";": "semicolon",
    "<": "less_than_sign",
    "=": "equals_sign",
    ">": "greater_than_sign",
    "?": "question_mark",
    "@": "at",
    "[": "left_square_bracket",
    "\\": "backslash",
    "]": "right_square_bracket",
    "^": "circumflex_accent",
    "_": "underscore",
    "`": "grave_accent",
    "{": "left_curly_bracket",
    "|": "vertical_line",
    "}": "right_curly_bracket",
    "~": "tilde",
    " ": "space",
}
_CHARACTERS = {name: character for character, name in _PUNCTUATION.items() if character != " "}
_MOVING = ("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete")
_NAMED = frozenset(
    (*_MOVING, "enter", "escape", "tab", "space", "backspace", *(f"f{number}" for number in range(1, 13)))
)
_SHORT = {"esc": "escape", "return": "enter", "del": "delete", "page_up": "pageup", "page_down": "pagedown"}
_SHOWN = {"escape": "esc", "up": "↑", "down": "↓", "left": "←", "right": "→"}
_SENT_AS = {"ctrl+h": "backspace", "ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "escape"}
"""Terminals send the same for both."""
KEYS_EXPECTED = (
    "one character (`s`, `S`, `?`), `ctrl+s`, `alt+s`, `f5`, `enter`, `esc`, `pageup` and the like"
)


def key_from(word: str) -> str | None:
    """Return the framework's name of a key that a person wrote; None: no key that a terminal sends alone."""
    word = _PUNCTUATION.get(word, word)
    if len(word) == 1:
        return word if word.isalnum() else None
    *modifiers, last = [part if len(part) == 1 else part.lower() for part in word.split("+")]
    last = _SHORT.get(last, last)
    if not modifiers:
        return last if last in _NAMED or last in _CHARACTERS else None
    sole = "".join(modifiers)
    if sole == "ctrl" and len(last) == 1 and last.isascii() and last.isalpha():
        key = f"ctrl+{last.lower()}"
        return None if key in _SENT_AS else key
    if sole in ("ctrl", "shift") and (last in _MOVING or (sole == "shift" and last == "tab")):
        return f"{sole}+{last}"
    return f"alt+{last}" if sole == "alt" and len(last) == 1 and last.isalnum() else None


def why_no_key(word: str) -> str:
    """Return what to write instead of something that is no key."""
    *modifiers, last = word.split("+")
    if word.lower() in _SENT_AS:
        return f"terminals send {_SENT_AS[word.lower()]} for it: write {_SENT_AS[word.lower()]}"
    if modifiers == ["shift"] and len(last) == 1 and last.isalpha():
        return f"write {last.upper()}"
    return f"expected {KEYS_EXPECTED}"


def shown_key(key: str) -> str:
    """Return a key as the screen shows it."""
    *modifiers, last = key.split("+")
    name = _SHOWN.get(last, _CHARACTERS.get(last, last))
    if modifiers == ["ctrl"] and len(name) == 1:
        return f"^{name}"
    return "+".join([*modifiers, name])


def written_key(key: str) -> str:
    """Return a key as a person writes it."""
    return "esc" if key == "escape" else _CHARACTERS.get(key, key)
