"""Where the files of one process lie, for those who write and those who wait."""

from pathlib import Path


def result_in(folder: Path) -> Path:
    """Return where the training script writes its figures."""
    return folder / "figures.json"


def began_beside(result: Path) -> Path:
    """Return the file that says that a script has the device to itself."""
    return result.with_suffix(".began")
