"""Writes files that were not there before: what a person has is never replaced."""

from pathlib import Path

from perftui.ipc.errors import Refused

_TRIES = 1000


def write_new(folder: Path, stem: str, ending: str, text: str) -> Path:
    """Write a text to STEM.ENDING, or to STEM-2.ENDING and so on, and return its path.

    Raises:
        Refused: the folder cannot be written, or is full of such files.
    """
    for number in range(1, _TRIES):
        path = folder / (f"{stem}.{ending}" if number == 1 else f"{stem}-{number}.{ending}")
        try:
            with path.open("x", encoding="utf-8", newline="") as file:
                file.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            raise Refused(
                f"{folder} cannot be written ({error.strerror}); start perftui in another one"
            ) from error
        return path
    raise Refused(f"{folder} has {_TRIES - 1} files named {stem}-….{ending}; move some away")
