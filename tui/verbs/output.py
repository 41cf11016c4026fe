"""What the verbs write: results to standard output, remarks to standard error."""

import sys


def write(text: str) -> None:
    """Write a result."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def write_json(value: object) -> None:
    """Write a record as one JSON document."""
    import msgspec

    write(msgspec.json.format(msgspec.json.encode(value), indent=1).decode())


def write_document(value: object) -> None:
    """Write a record that has no schema of its own as one JSON document with `"schema": 1`."""
    import msgspec

    write_json({"schema": 1, **msgspec.to_builtins(value)})


def say(text: str) -> None:
    """Say something that is no result."""
    sys.stderr.write(f"perftui: {text}\n")
    sys.stderr.flush()


def ask(question: str) -> str:
    """Ask the person at the terminal and return the line typed."""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline()
