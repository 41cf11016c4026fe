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
LARGEST_CLOCK = 1 << 62
"""ns of a clock; with an offset of the same size it stays a time that can be written down."""
PID_MAX = 1 << 22
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FILE_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,199}", re.ASCII)


def check_from_rank(message: FromRank, frame_bytes: int) -> None:
    """Check what a rank sent.

    Raises:
        ProtocolError: it says something that no rank can mean.
    """
    if frame_bytes > SMALL_FRAME_BYTES and not isinstance(message, StepBatch):
        raise ProtocolError(f"{_kind(message)} of {frame_bytes} bytes: the limit is {SMALL_FRAME_BYTES}")
    if not (0 <= message.rank < RANKS_MAX and 0 <= message.seq <= _LARGEST):
        check_whole(message, "rank", message.rank, 0, RANKS_MAX - 1)
        check_whole(message, "seq", message.seq, 0, _LARGEST)
    if isinstance(message, StepBatch):
        _check_steps(message)
    elif isinstance(message, DeviceSteps):
        _check_device(message)
    elif isinstance(message, Hello):
        _check_hello(message)
    elif isinstance(message, WindowReport):
        _check_window(message)
    elif isinstance(message, RankEvent):
        check_whole(message, "step", message.step, -1, _LARGEST)
        check_whole(message, "at_ns", message.at_ns, -LARGEST_CLOCK, LARGEST_CLOCK)
        check_whole(message, "duration_ns", message.duration_ns, -_LARGEST, _LARGEST)
        check_whole(message, "size_bytes", message.size_bytes or 0, 0, _LARGEST)
    elif isinstance(message, LossSample):
        check_whole(message, "step", message.step, -1, _LARGEST)
    elif isinstance(message, Facts):
        _check_facts(message)


def _check_facts(message: Facts) -> None:
    phases, loading = message.facts.phases, message.facts.loading
    if phases is not None:
        _numbers(message, "phases.seconds", phases.seconds.values())
        for name in ("since_ns", "at_ns", "began_ns", "newest_ns"):
            check_whole(message, f"phases.{name}", getattr(phases, name), -LARGEST_CLOCK, LARGEST_CLOCK)
    sampling = message.facts.sampling
    if sampling is not None:
        _numbers(message, "sampling", (sampling.worker_init_s or 0.0,))
        if (sampling.worker_init_s or 0.0) < 0:
            raise ProtocolError("facts: sampling has a time below 0")
    if loading is not None:
        _numbers(message, "loading", (loading.fetch_s, loading.collate_s))
        if min(loading.fetch_s, loading.collate_s) < 0:
            raise ProtocolError("facts: loading has a time below 0")


def _check_steps(batch: StepBatch) -> None:
    """Only what arithmetic or memory depends on: it is done for each frame of each rank."""
    end, wall, count = batch.end_ns, batch.wall_ns, len(batch.end_ns)
    if count > STEPS_PER_FRAME_MAX:
        raise ProtocolError(f"{count} steps in one frame: the limit is {STEPS_PER_FRAME_MAX}")
    if not 0 <= batch.first_step <= _LARGEST:
        check_whole(batch, "first_step", batch.first_step, 0, _LARGEST)
    if min(batch.dropped, batch.probe_ns, batch.hook_ns, batch.hook_steps, batch.shadow_steps) < 0:
        raise ProtocolError("steps: a count or a time below 0")
    needed = (
        *(len(wall), len(batch.wait_ns), len(batch.forward_ns), len(batch.backward_ns)),
        *(len(batch.optimizer_ns), len(batch.cpu_ns), len(batch.samples), len(batch.micro_batches)),
        *(len(batch.epoch), len(batch.flags)),
    )
    may_be = len(batch.h2d_ns), len(batch.comm_ns), len(batch.worker), len(batch.tokens)
    if needed.count(count) < len(needed) or may_be.count(count) + may_be.count(0) < len(may_be):
        raise ProtocolError(f"steps: columns of {sorted({*needed, *may_be})} numbers, {count} in end_ns")
    if count and not (min(wall) >= 0 and max(wall) <= _LARGEST and min(batch.epoch) >= 0):
        raise ProtocolError("steps: a length or an epoch that no step has")
    if count and not (min(end) >= -LARGEST_CLOCK and max(end) <= LARGEST_CLOCK):
        raise ProtocolError("steps: an end that no clock has shown")
    if batch.shadow_us is not None or batch.shadow_cpu_us is not None:
        shadows = (batch.shadow_us, batch.shadow_se_us, batch.shadow_cpu_us, batch.shadow_cpu_se_us)
        _numbers(batch, "shadow", (value for value in shadows if value is not None))


def _check_device(message: DeviceSteps) -> None:
    columns = {name: getattr(message, name) for name in DeviceSteps.__struct_fields__ if name.endswith("_ms")}
    for name, column in columns.items():
        if len(column) != len(message.step):
            raise ProtocolError(f"device: {len(column)} numbers in {name}, {len(message.step)} in step")
        _numbers(message, name, column)
    if message.step and not (min(message.step) >= 0 and max(message.step) <= _LARGEST):
        raise ProtocolError("device: a step that is none")


def _check_hello(hello: Hello) -> None:
    check_whole(hello, "pid", hello.pid, 1, PID_MAX)
    check_whole(hello, "start_ticks", hello.start_ticks, 0, LARGEST_CLOCK)
    check_whole(hello, "local_rank", hello.local_rank, 0, RANKS_MAX - 1)
    check_whole(hello, "world_size", hello.world_size, 1, WORLD_MAX)
    check_whole(hello, "wall_offset_ns", hello.wall_offset_ns, -LARGEST_CLOCK, LARGEST_CLOCK)
    if len(hello.command) > WORDS_MAX:
        raise ProtocolError(f"hello: a command of {len(hello.command)} words: the limit is {WORDS_MAX}")
    texts = (hello.host, hello.python, hello.torch, hello.device, hello.gpu_uuid or "", *hello.command)
    if max(map(len, texts)) > TEXT_MAX:
        raise ProtocolError(f"hello: a text of more than {TEXT_MAX} characters")


def _check_window(report: WindowReport) -> None:
    check_name(report, report.window_id)
    check_whole(report, "start_step", report.start_step, -_LARGEST, _LARGEST)
    check_whole(report, "steps", report.steps, -_LARGEST, _LARGEST)
    check_whole(report, "events", report.events, 0, _LARGEST)
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
        check_name(message, message.window_id)
    if isinstance(message, ArmWindow):
        check_whole(message, "start_step", message.start_step, -_LARGEST, _LARGEST)
        check_whole(message, "warm_steps", message.warm_steps, -_LARGEST, _LARGEST)
        check_whole(message, "steps", message.steps, -_LARGEST, _LARGEST)
        if not message.directory.startswith("/") or "\0" in message.directory:
            raise ProtocolError(f"arm: {message.directory[:200]!r} is no absolute path")


def check_from_dashboard(message: FromDashboard) -> None:
    """Check what a dashboard or a command sent.

    Raises:
        ProtocolError: it says something that none of them can mean.
    """
    if isinstance(message, Pull):
        check_whole(message, "since", message.since, 0, _LARGEST)
        check_whole(message, "output_since", message.output_since, 0, _LARGEST)
        check_whole(message, "len(closer)", len(message.closer), 0, RANKS_MAX)
        return
    check_name(message, message.command_id)
    if isinstance(message, ProfileCommand):
        check_whole(message, "steps", message.steps, -_LARGEST, _LARGEST)
        check_whole(message, "len(ranks)", len(message.ranks or ()), 0, RANKS_MAX)
    elif isinstance(message, RelaunchCommand):
        _numbers(
            message, "bound", (v for v in (message.bound, message.expected, message.most_s) if v is not None)
        )
        if len(message.finding or "") > TEXT_MAX:
            raise ProtocolError(f"relaunch: a finding of more than {TEXT_MAX} characters")
    elif isinstance(message, SeekCommand):
        _numbers(message, "seek", (v for v in (message.elapsed_s, message.speed) if v is not None))
    elif isinstance(message, StepsQuery):
        check_whole(message, "first_step", message.first_step, -_LARGEST, _LARGEST)
        for name in ("last_step", "newest", "blocks"):
            check_whole(message, name, getattr(message, name) or 0, -_LARGEST, _LARGEST)
    elif isinstance(message, RanksQuery):
        for name in ("first_step", "last_step", "newest", "blocks", "bands"):
            check_whole(message, name, getattr(message, name) or 0, -_LARGEST, _LARGEST)
    elif isinstance(message, LedgerQuery):
        check_whole(message, "limit", message.limit, -_LARGEST, _LARGEST)
    elif isinstance(message, SearchQuery) and len(message.search) > TEXT_MAX:
        raise ProtocolError(f"search: a word of more than {TEXT_MAX} characters")


def check_name(message: msgspec.Struct, name: str) -> None:
    """Check a name that becomes part of a file's name, or of a line in a log. Raises ProtocolError."""
    if not _NAME.fullmatch(name):
        raise ProtocolError(f"{_kind(message)}: {name[:80]!r} is no name (letters, digits, - and _)")


def check_whole(message: msgspec.Struct, name: str, value: int, low: int, high: int) -> None:
    """Check that a whole number lies within bounds. Raises ProtocolError."""
    if not low <= value <= high:
        raise ProtocolError(f"{_kind(message)}: {name} is {value}, expected {low} to {high}")


def _numbers(message: msgspec.Struct, name: str, values: Iterable[float]) -> None:
    if not all(math.isfinite(value) and abs(value) <= _LARGEST for value in values):
        raise ProtocolError(f"{_kind(message)}: {name} has a value that is no number of a measurement")


def _kind(message: msgspec.Struct) -> str:
    return str(message.__struct_config__.tag)
