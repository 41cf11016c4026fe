"""What a frame may say beyond its types: numbers that mean something, columns of equal length, plain names.

Behind this door nobody has to ask again: a step has an index, a window's name is no path, no number is so
large that arithmetic fails. Pure.
"""

import math
import re
from collections.abc import Iterable

import msgspec

from perftui.ipc.dashboard_messages import (
    FromDashboard,
    LedgerQuery,
    ProfileCommand,
    Pull,
    RanksQuery,
    RelaunchCommand,
    SearchQuery,
    SeekCommand,
    StepsQuery,
)
from perftui.ipc.errors import ProtocolError
from perftui.ipc.messages import (
    ArmWindow,
    CancelWindow,
    DeviceSteps,
    Facts,
    FromRank,
    Hello,
    LossSample,
    RankEvent,
    StepBatch,
    ToRank,
    WindowReport,
)

RANKS_MAX = 16_384
"""Ranks that one hub keeps; a rank's number is below it."""
WORLD_MAX = 1 << 20
STEPS_PER_FRAME_MAX = 10_000
"""A rank sends 2,000 at most."""
WORDS_MAX = 128
"""Of a command line; a rank sends 64 at most."""
TEXT_MAX = 8192
"""Characters of a line of text, of a name, or of one word of a command line."""
SMALL_FRAME_BYTES = 256 * 1024
"""Only `steps` may be longer."""
_LARGEST = 1 << 53
"""Steps, counts and ns: 104 days of ns, and a whole number that a double still holds exactly."""
_LARGEST_CLOCK = 1 << 62
"""ns of a clock; with an offset of the same size it stays a time that can be written down."""
_PID_MAX = 1 << 22
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FILE_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,199}", re.ASCII)


def check_from_rank(message: FromRank, frame_bytes: int) -> None:
    """Check what a rank sent.

    Raises:
        ProtocolError: it says something that no rank can mean.
    """
    if frame_bytes > SMALL_FRAME_BYTES and not isinstance(message, StepBatch):
        raise ProtocolError(f"{_kind(message)} of {frame_bytes} bytes: the limit is {SMALL_FRAME_BYTES}")
    _whole(message, "rank", message.rank, 0, RANKS_MAX - 1)
    _whole(message, "seq", message.seq, 0, _LARGEST)
    if isinstance(message, StepBatch):
        _check_steps(message)
    elif isinstance(message, DeviceSteps):
        _check_device(message)
    elif isinstance(message, Hello):
        _check_hello(message)
    elif isinstance(message, WindowReport):
        _check_window(message)
    elif isinstance(message, RankEvent):
        _whole(message, "step", message.step, -1, _LARGEST)
        _whole(message, "at_ns", message.at_ns, -_LARGEST_CLOCK, _LARGEST_CLOCK)
        _whole(message, "duration_ns", message.duration_ns, -_LARGEST, _LARGEST)
    elif isinstance(message, LossSample):
        _whole(message, "step", message.step, -1, _LARGEST)
    elif isinstance(message, Facts) and message.facts.phases is not None:
        phases = message.facts.phases
        _numbers(message, "phases.seconds", phases.seconds.values())
        for name in ("since_ns", "at_ns", "began_ns", "newest_ns"):
            _whole(message, f"phases.{name}", getattr(phases, name), -_LARGEST_CLOCK, _LARGEST_CLOCK)


def _check_steps(batch: StepBatch) -> None:
    count = len(batch.end_ns)
    if count > STEPS_PER_FRAME_MAX:
        raise ProtocolError(f"{count} steps in one frame: the limit is {STEPS_PER_FRAME_MAX}")
    _whole(batch, "first_step", batch.first_step, 0, _LARGEST)
    for name in ("dropped", "probe_ns", "hook_ns", "hook_steps", "shadow_steps"):
        _whole(batch, name, getattr(batch, name), 0, _LARGEST)
    for name, column in _needed_columns(batch):
        if len(column) != count:
            raise ProtocolError(f"steps: {len(column)} numbers in {name}, {count} in end_ns")
        limit = _LARGEST_CLOCK if name == "end_ns" else _LARGEST
        if column and not (-limit <= min(column) and max(column) <= limit):
            raise ProtocolError(f"steps: {name} has a number that is none of a step")
    if count and min(batch.wall_ns) < 0:
        raise ProtocolError("steps: a step of negative length")
    shadows = (batch.shadow_us, batch.shadow_se_us, batch.shadow_cpu_us, batch.shadow_cpu_se_us)
    _numbers(batch, "shadow", (value for value in shadows if value is not None))


def _needed_columns(batch: StepBatch) -> Iterable[tuple[str, list[int]]]:
    """Yield the columns; those that may be empty only where they are not."""
    yield "end_ns", batch.end_ns
    yield "wall_ns", batch.wall_ns
    yield "wait_ns", batch.wait_ns
    yield "forward_ns", batch.forward_ns
    yield "backward_ns", batch.backward_ns
    yield "optimizer_ns", batch.optimizer_ns
    yield "cpu_ns", batch.cpu_ns
    yield "samples", batch.samples
    yield "micro_batches", batch.micro_batches
    yield "epoch", batch.epoch
    yield "flags", batch.flags
    for name, column in (
        ("h2d_ns", batch.h2d_ns),
        ("comm_ns", batch.comm_ns),
        ("worker", batch.worker),
        ("tokens", batch.tokens),
    ):
        if column:
            yield name, column


def _check_device(message: DeviceSteps) -> None:
    columns = {name: getattr(message, name) for name in DeviceSteps.__struct_fields__ if name.endswith("_ms")}
    for name, column in columns.items():
        if len(column) != len(message.step):
            raise ProtocolError(f"device: {len(column)} numbers in {name}, {len(message.step)} in step")
        _numbers(message, name, column)
    if message.step and not (min(message.step) >= 0 and max(message.step) <= _LARGEST):
        raise ProtocolError("device: a step that is none")


def _check_hello(hello: Hello) -> None:
    _whole(hello, "pid", hello.pid, 1, _PID_MAX)
    _whole(hello, "start_ticks", hello.start_ticks, 0, _LARGEST_CLOCK)
    _whole(hello, "local_rank", hello.local_rank, 0, RANKS_MAX - 1)
    _whole(hello, "world_size", hello.world_size, 1, WORLD_MAX)
    _whole(hello, "wall_offset_ns", hello.wall_offset_ns, -_LARGEST_CLOCK, _LARGEST_CLOCK)
    if len(hello.command) > WORDS_MAX:
        raise ProtocolError(f"hello: a command of {len(hello.command)} words: the limit is {WORDS_MAX}")
    texts = (hello.host, hello.python, hello.torch, hello.device, hello.gpu_uuid or "", *hello.command)
    if max(map(len, texts)) > TEXT_MAX:
        raise ProtocolError(f"hello: a text of more than {TEXT_MAX} characters")


def _check_window(report: WindowReport) -> None:
    _check_name(report, report.window_id)
    _whole(report, "start_step", report.start_step, -_LARGEST, _LARGEST)
    _whole(report, "steps", report.steps, -_LARGEST, _LARGEST)
    _whole(report, "events", report.events, 0, _LARGEST)
    _numbers(report, "cost_ms", report.cost_ms.values())
    for told in (report.path, report.snapshot):
        if told is not None and not _FILE_NAME.fullmatch(told.rpartition("/")[2]):
            raise ProtocolError(f"window: {told[:200]!r} names no file")


def check_to_rank(message: ToRank) -> None:
    """Check what a hub sent to a rank.

    Raises:
        ProtocolError: it says something that no hub can mean.
    """
    if isinstance(message, ArmWindow | CancelWindow):
        _check_name(message, message.window_id)
    if isinstance(message, ArmWindow):
        _whole(message, "start_step", message.start_step, -_LARGEST, _LARGEST)
        _whole(message, "warm_steps", message.warm_steps, -_LARGEST, _LARGEST)
        _whole(message, "steps", message.steps, -_LARGEST, _LARGEST)
        if not message.directory.startswith("/") or "\0" in message.directory:
            raise ProtocolError(f"arm: {message.directory[:200]!r} is no absolute path")


def check_from_dashboard(message: FromDashboard) -> None:
    """Check what a dashboard or a command sent.

    Raises:
        ProtocolError: it says something that none of them can mean.
    """
    if isinstance(message, Pull):
        _whole(message, "since", message.since, 0, _LARGEST)
        _whole(message, "output_since", message.output_since, 0, _LARGEST)
        return
    _check_name(message, message.command_id)
    if isinstance(message, ProfileCommand):
        _whole(message, "steps", message.steps, -_LARGEST, _LARGEST)
        _whole(message, "len(ranks)", len(message.ranks or ()), 0, RANKS_MAX)
    elif isinstance(message, RelaunchCommand):
        _numbers(message, "bound", (v for v in (message.bound, message.expected) if v is not None))
        if len(message.finding or "") > TEXT_MAX:
            raise ProtocolError(f"relaunch: a finding of more than {TEXT_MAX} characters")
    elif isinstance(message, SeekCommand):
        _numbers(message, "seek", (v for v in (message.elapsed_s, message.speed) if v is not None))
    elif isinstance(message, StepsQuery):
        _whole(message, "first_step", message.first_step, -_LARGEST, _LARGEST)
        for name in ("last_step", "newest", "blocks"):
            _whole(message, name, getattr(message, name) or 0, -_LARGEST, _LARGEST)
    elif isinstance(message, RanksQuery):
        for name in ("first_step", "last_step", "newest", "blocks", "bands"):
            _whole(message, name, getattr(message, name) or 0, -_LARGEST, _LARGEST)
    elif isinstance(message, LedgerQuery):
        _whole(message, "limit", message.limit, -_LARGEST, _LARGEST)
    elif isinstance(message, SearchQuery) and len(message.search) > TEXT_MAX:
        raise ProtocolError(f"search: a word of more than {TEXT_MAX} characters")


def _check_name(message: msgspec.Struct, name: str) -> None:
    """A name becomes part of a file's name, or of a line in a log."""
    if not _NAME.fullmatch(name):
        raise ProtocolError(f"{_kind(message)}: {name[:80]!r} is no name (letters, digits, - and _)")


def _whole(message: msgspec.Struct, name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ProtocolError(f"{_kind(message)}: {name} is {value}, expected {low} to {high}")


def _numbers(message: msgspec.Struct, name: str, values: Iterable[float]) -> None:
    if not all(math.isfinite(value) and abs(value) <= _LARGEST for value in values):
        raise ProtocolError(f"{_kind(message)}: {name} has a value that is no number of a measurement")


def _kind(message: msgspec.Struct) -> str:
    return str(message.__struct_config__.tag)
