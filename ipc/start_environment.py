"""The locale that this process was started in, whatever Python has made of it since.

In the C locale Python sets LC_CTYPE to C.UTF-8 for itself and its children (PEP 538) and calls every text
UTF-8 (PEP 540). That is right for files and wrong for a terminal, which shows what the locale says.
"""

import os
from collections.abc import Mapping
from pathlib import Path

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")


def start_environment() -> dict[str, str]:
    """Return the environment without the LC_CTYPE that Python has put there."""
    environ = dict(os.environ)
    if environ.get("LC_CTYPE") not in _COERCED:
        return environ
    try:
        begun = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:  # no such file system: believe what is there
        return environ
    said = [part.partition(b"=")[2] for part in begun if part.startswith(b"LC_CTYPE=")]
    if said:
        environ["LC_CTYPE"] = os.fsdecode(said[0])
    else:
        del environ["LC_CTYPE"]
    return environ


def speaks_utf8(environ: Mapping[str, str]) -> bool | None:
    """Return whether the locale is a UTF-8 one; None where no variable says anything."""
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG")
    return "utf8" in locale.lower().replace("-", "") if locale else None
