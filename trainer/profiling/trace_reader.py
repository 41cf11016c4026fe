"""Reads Kineto's Chrome JSON, plain or gzip, from any torch since 1.13, CUDA, ROCm or CPU only.

Decoding is typed and names only the fields that are used, which is several times faster than building every
event as a dictionary; the types are lenient, because writers are: numbers come as strings, threads as names.
"""

import gzip
import re
import zlib
from pathlib import Path
from typing import TypeAlias

import msgspec

from perftui.ipc.errors import RecordingError
from perftui.trainer.profiling.trace_columns import DeviceCalls, DeviceSpans, HostSpans, StepMarks, Trace

_Number: TypeAlias = int | float | str | None
_Thread: TypeAlias = tuple[_Number, _Number]


class _Arguments(msgspec.Struct, gc=False):
    external_id: _Number = msgspec.field(name="External id", default=None)
    external_id_old: _Number = msgspec.field(name="external id", default=None)
    correlation: _Number = None


class _Event(msgspec.Struct, gc=False):
    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: _Number = None
    tid: _Number = None
    ts: _Number = None
    dur: _Number = None
    args: _Arguments | None = None


class _TraceFile(msgspec.Struct):
    events: list[_Event] = msgspec.field(name="traceEvents")


_decoder = msgspec.json.Decoder(_TraceFile | list[_Event])

_HOST = frozenset({"cpu_op", "user_annotation", "Operator"})
_CALLS = frozenset({"cuda_runtime", "cuda_driver", "Runtime", "xpu_runtime"})
_KERNELS = frozenset({"kernel", "Kernel"})
_COPIES = frozenset({"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"})
_STEP_MARK = "ProfilerStep#"
_NOT_JSON_NUMBER = re.compile(rb"(?<=[:,\[ ])\s*-?(?:NaN|nan|Infinity|inf|N/A)(?=\s*[,}\]])")
_GZIP_MAGIC = b"\x1f\x8b"
_NS_PER_US = 1000


def read_trace(path: Path) -> Trace:
    """Read a trace file.

    Raises:
        RecordingError: the file is missing, cut off, not JSON, not a trace, or has no events in it.
    """
    events = _decode(path, _read_text(path))
    columns = _Columns()
    for event in events:
        if event.ph == "X":
            columns.add(event)
    if not columns.kept:
        raise RecordingError(
            f"{path}: no operators and no kernels among its {len(events)} events; "
            "not a torch.profiler trace, or an empty window"
        )
    return columns.trace


def _read_text(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        return gzip.decompress(data)
    except EOFError as error:
        raise RecordingError(f"{path}: cut off after {len(data)} compressed bytes") from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise RecordingError(f"{path}: damaged gzip file ({error})") from error


def _decode(path: Path, text: bytes) -> list[_Event]:
    if not text.strip():
        raise RecordingError(f"{path}: empty file")
    try:
        return _events(text)
    except msgspec.ValidationError as error:
        raise RecordingError(f"{path}: not a torch.profiler trace ({error})") from error
    except msgspec.DecodeError as first_error:
        cleaned, replaced = _NOT_JSON_NUMBER.subn(b"null", text)
        if not replaced:
            raise RecordingError(_unreadable(path, text, first_error)) from first_error
    try:
        return _events(cleaned)
    except msgspec.DecodeError as error:
        raise RecordingError(_unreadable(path, text, error)) from error


def _events(text: bytes) -> list[_Event]:
    decoded = _decoder.decode(text)
    return decoded.events if isinstance(decoded, _TraceFile) else decoded


def _unreadable(path: Path, text: bytes, error: msgspec.DecodeError) -> str:
    if "truncated" in str(error):
        return f"{path}: cut off at byte {len(text)}; the trace was not written to its end"
    return f"{path}: not JSON ({error})"


class _Columns:
    """Sorts events into the columns of a trace."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.kept = 0
        self._threads: dict[_Thread, int] = {}

    def add(self, event: _Event) -> None:
        """File one complete event; events of other categories, or without times, are left out."""
        start_us, duration_us = _decimal(event.ts), _decimal(event.dur)
        if start_us is None or duration_us is None:
            return
        start_ns = round(start_us * _NS_PER_US)
        end_ns = start_ns + max(0, round(duration_us * _NS_PER_US))
        if event.cat in _HOST:
            self._add_host(event, start_ns, end_ns)
        elif event.cat in _CALLS:
            self._add_call(event, start_ns)
        elif event.cat in _KERNELS or event.cat in _COPIES:
            self._add_device(event, start_ns, end_ns)
        else:
            return
        self.kept += 1

    def _add_host(self, event: _Event, start_ns: int, end_ns: int) -> None:
        thread = self._thread(event)
        if event.name.startswith(_STEP_MARK):
            marks: StepMarks = self.trace.steps
            marks.thread.append(thread)
            marks.start_ns.append(start_ns)
            marks.end_ns.append(end_ns)
            return
        host: HostSpans = self.trace.host
        host.name.append(event.name)
        host.thread.append(thread)
        host.start_ns.append(start_ns)
        host.end_ns.append(end_ns)
        host.external.append(_external(event))

    def _add_call(self, event: _Event, start_ns: int) -> None:
        calls: DeviceCalls = self.trace.calls
        calls.thread.append(self._thread(event))
        calls.start_ns.append(start_ns)
        calls.correlation.append(_correlation(event))

    def _add_device(self, event: _Event, start_ns: int, end_ns: int) -> None:
        device: DeviceSpans = self.trace.device
        device.name.append(event.name)
        device.kind.append("kernel" if event.cat in _KERNELS else "copy")
        device.start_ns.append(start_ns)
        device.end_ns.append(end_ns)
        device.external.append(_external(event))
        device.correlation.append(_correlation(event))

    def _thread(self, event: _Event) -> int:
        return self._threads.setdefault((event.pid, event.tid), len(self._threads))


def _external(event: _Event) -> int:
    if event.args is None:
        return -1
    identifier = event.args.external_id
    return _identifier(event.args.external_id_old if identifier is None else identifier)


def _correlation(event: _Event) -> int:
    return -1 if event.args is None else _identifier(event.args.correlation)


def _identifier(value: _Number) -> int:
    number = _decimal(value)
    return -1 if number is None else int(number)


def _decimal(value: _Number) -> int | float | None:
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
