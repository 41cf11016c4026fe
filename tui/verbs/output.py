"""What the verbs write: results to standard output, remarks to standard error."""

import sys
from collections.abc import Iterable

from perftui.ipc.harmless import harmless, harmless_json, one_line


def write(text: str) -> None:
    """Write a result; what is foreign in it steers no terminal."""
    sys.stdout.write(harmless(text) + "\n")
    sys.stdout.flush()


def write_lines(lines: Iterable[str]) -> None:
    """Write a result line by line: a name with a line feed in it begins no line of its own."""
    write("\n".join(map(one_line, lines)))


def write_json_text(text: str) -> None:
    """Write one JSON document: that is UTF-8, whatever the locale says."""
    sys.stdout.flush()
    sys.stdout.buffer.write((harmless_json(text) + "\n").encode())
    sys.stdout.buffer.flush()


def write_json(value: object) -> None:
    """Write a record as one JSON document."""
    import msgspec

    from perftui.ipc.told_text import encoded

    write_json_text(msgspec.json.format(encoded(msgspec.json.encode, value), indent=1).decode())


def write_document(value: object) -> None:
    """Write a record that has no schema of its own as one JSON document with `"schema": 1`."""
    import msgspec

    write_json({"schema": 1, **msgspec.to_builtins(value)})


def say(text: str) -> None:
    """Say something that is no result."""
    sys.stderr.write(f"perftui: {harmless(text)}\n")
    sys.stderr.flush()


def ask(question: str) -> str:
    """Ask the person at the terminal and return the line typed."""
    sys.stderr.write(harmless(question))
    sys.stderr.flush()
    return sys.stdin.readline()
