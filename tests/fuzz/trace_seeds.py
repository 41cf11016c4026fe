"""Whole inputs that are text: traces, the JSON files of a run, lines of the GPU sampler, output; and ways to
make text wrong."""

import gzip
import json
import random
import zlib
from collections.abc import Sequence

import msgspec

from perftui.ipc.run_files import ExitRecord, RunDescription, StopRequest
from perftui.ipc.summary import Summary
from perftui.ipc.view import RelaunchView
from perftui.trainer.telemetry.gpu_lines import Stuck, Sweep, Unavailable, Wanted, line_of
from tests.profiling.trace_maker import LOADER, event, mark, step

from .mutation import altered
from .seeds import CORPUS, example

TEXTS = frozenset({"trace", "records", "sampler", "output"})
_EVENTS = [
    step(1, 1000, 100),
    step(2, 1100, 100),
    mark(LOADER, 1000, 60),
    event("cpu_op", "aten::linear", 1065, 20, 1, **{"External id": 1, "Input Dims": [[8, 16], [16, 4]]}),
    event("cuda_runtime", "cudaLaunchKernel", 1070, 3, correlation=5),
    event("kernel", "gemm", 1075, 12, 7, correlation=5, device=0, stream=7, **{"blocks per SM": 2.0}),
    event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1090, 5, 7, device=0, stream=7, bytes=4096),
    event("cuda_runtime", "cudaStreamSynchronize", 1120, 30, correlation=6),
    event("python_function", "train.py(3): main", 1000, 200),
    {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 1080.0, "args": {"Bytes": 512}},
]
TRACES: list[bytes] = [
    json.dumps({"schemaVersion": 1, "traceEvents": _EVENTS}).encode(),
    json.dumps(_EVENTS).encode(),
    gzip.compress(json.dumps({"traceEvents": _EVENTS, "distributedInfo": {"rank": 0}}).encode(), mtime=0),
    *(path.read_bytes() for path in sorted(CORPUS.glob("*.json.gz"))),
]
RECORDS: list[bytes] = [
    msgspec.json.encode(example(kind))
    for kind in (RunDescription, ExitRecord, StopRequest, Summary, RelaunchView)
]
LINES: list[bytes] = [line_of(example(kind)) for kind in (Wanted, Sweep, Stuck, Unavailable)]
OUTPUT: list[bytes] = [
    b"epoch 1 loss 0.3\r\n",
    b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m",
    "10%|█▌  | 3/30\r20%|███ | 6/30\r".encode(),
    b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1bP1;2|q\x1b\\",
]
_ODD_TEXT = (
    b"NaN", b"1e999", b"-1e999", b"18446744073709551616", b"9" * 400, b"null", b"true", b'"x"', b"[]", b"{}",
    b"[" * 3000, b'{"a":' * 3000, b'"\\u0000"', b'"\\ud800"', b"\xff\xfe", b"\0", b"-0", b"1.5e-320",
    b"\x1b[2J",
    b'"../../x"', b"4503599627370497", b"}, {", b'"ts"', b'"dur": -1', b",", b":", b"]", b"}",
)  # fmt: skip


def wrong_text(draw: random.Random, text: bytes, others: Sequence[bytes]) -> bytes:
    """Return text with bytes changed, words put in place of others, parts lost, doubled or foreign."""
    packed = text[:2] == b"\x1f\x8b"
    plain = _unpacked(text) if packed and draw.random() < 0.8 else text
    said = wrong_json(draw, plain) if draw.random() < 0.5 else None
    if said is not None:
        return said
    made = bytearray(plain)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(made) + 1)
        match draw.randrange(6):
            case 0 if made:
                made[place % len(made)] = draw.randrange(256)
            case 1:
                end = place
                while end < len(made) and made[end : end + 1] not in b",:}]":
                    end += 1
                made[place:end] = draw.choice(_ODD_TEXT)
            case 2:
                del made[place:]
            case 3:
                made[place:place] = made[place : place + draw.randint(1, 200)] * draw.randint(1, 3)
            case 4:
                del made[place : place + draw.randint(1, 20)]
            case _:
                other = draw.choice(others)
                made[place:] = other[draw.randrange(len(other) + 1) :]
    whole = bytes(made)
    return gzip.compress(whole, 1, mtime=0) if packed and draw.random() < 0.5 else whole


def _unpacked(text: bytes) -> bytes:
    try:
        return gzip.decompress(text)
    except (OSError, EOFError, zlib.error):  # wrong already
        return text


def wrong_json(draw: random.Random, text: bytes) -> bytes | None:
    """Return JSON that says something else in some places; None where the text is none."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for _ in range(draw.randint(1, 5)):
        said = altered(draw, said)
    try:
        return json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError):  # bytes among the odd things
        return None
