"""`python -m tests.fuzz.reasons [FOLDER…]`: keeps the shortest input for each reason of a refusal.

Looks at inputs made wrong as `make fuzz` does, and at what guided runs have left in folders named after their
targets; writes `corpus/refused.msgpack`.
"""

import random
import re
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import msgspec

from perftui.ipc import codec
from perftui.ipc.errors import ProtocolError, RecordingError

from .__main__ import begin_of, way_of
from .seeds import CORPUS
from .targets import scratch_folder, targets

REFUSED = CORPUS / "refused.msgpack"
_MADE = {"from_rank": 60_000, "to_rank": 8000, "from_dashboard": 30_000, "to_dashboard": 6000, "trace": 900}
_INPUT_BYTES_MAX = 3000
_VARIES = re.compile(r"-?\d[\d.e+]*|`[^`]*`|'[^']*'|^\S*/\S*")
_DECODERS: dict[str, Callable[[bytes], object]] = {
    "from_rank": codec.decode_from_rank,
    "to_rank": codec.decode_to_rank,
    "from_dashboard": codec.decode_from_dashboard,
    "to_dashboard": codec.decode_to_dashboard,
}


def kept() -> dict[str, list[bytes]]:
    """Return the inputs that are kept, by target."""
    return msgspec.msgpack.decode(REFUSED.read_bytes(), type=dict[str, list[bytes]])


def _why(name: str, data: bytes, folder: Path) -> str | None:
    """Return why an input is refused, without what varies; None: it is not."""
    try:
        if name in _DECODERS:
            _DECODERS[name](data)
        elif targets(folder)[name](data) == "refused":
            return _of_trace(folder)
    except ProtocolError as error:
        return _VARIES.sub("…", str(error))[:100]
    return None


def _of_trace(folder: Path) -> str:
    from perftui.trainer.profiling.trace_reader import read_trace

    try:
        read_trace(folder / "rank0.json")
    except RecordingError as error:
        return _VARIES.sub("…", str(error))[:100]
    return "no report can be made"


def _inputs(name: str, folders: list[Path]) -> Iterator[bytes]:
    draw, begin = random.Random(name), begin_of(name)
    found = (path for folder in folders if folder.name == name for path in sorted(folder.iterdir()))
    made = (way_of(name)(draw, draw.choice(begin), begin) for _ in range(_MADE[name]))
    return chain((path.read_bytes() for path in found), made)


def main(folders: list[Path]) -> None:
    """Write the corpus anew."""
    chosen: dict[str, list[bytes]] = {}
    with scratch_folder() as scratch:
        for name in _MADE:
            shortest: dict[str, bytes] = {}
            for data in _inputs(name, folders):
                why = _why(name, data, scratch) if len(data) <= _INPUT_BYTES_MAX else None
                if why is not None and len(data) < len(shortest.get(why, data + b"x")):
                    shortest[why] = data
            chosen[name] = sorted(shortest.values(), key=len)
            sys.stderr.write(f"{name}: {len(chosen[name])} reasons\n")
    REFUSED.write_bytes(msgspec.msgpack.encode(chosen))


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
