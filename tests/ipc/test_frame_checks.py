"""What types allow and no peer can mean is refused at the door, with the field and the value."""

from typing import Any

import msgspec
import pytest

from perftui.ipc import codec
from perftui.ipc.dashboard_messages import ProfileCommand, Pull, RelaunchCommand, SeekCommand, StopCommand
from perftui.ipc.errors import ProtocolError
from perftui.ipc.facts import RankFacts
from perftui.ipc.frame_checks import PID_MAX, RANKS_MAX, SMALL_FRAME_BYTES, STEPS_PER_FRAME_MAX
from perftui.ipc.host_messages import ForRank, HostHello
from perftui.ipc.loader_facts import LoadingFacts, SamplingFacts
from perftui.ipc.messages import (
    ArmWindow,
    CancelWindow,
    DeviceSteps,
    Facts,
    Hello,
    RankEvent,
    StepBatch,
    WindowReport,
)
from tests.fuzz.seeds import example


def _refusal(kind: type[msgspec.Struct], **changed: object) -> str:
    """Return why a whole message, which is taken, is refused once a field of it is changed."""
    decode: Any = codec.decode_from_rank
    if issubclass(kind, ArmWindow | CancelWindow):
        decode = codec.decode_to_rank
    elif issubclass(kind, Pull | StopCommand | ProfileCommand | RelaunchCommand | SeekCommand):
        decode = codec.decode_from_dashboard
    elif issubclass(kind, HostHello):
        decode = codec.decode_from_host
    elif issubclass(kind, ForRank):
        decode = codec.decode_to_host
    whole = example(kind)
    assert decode(codec.encode(whole)) == whole
    with pytest.raises(ProtocolError) as refused:
        decode(codec.encode(msgspec.structs.replace(whole, **changed)))
    return str(refused.value)


def test_the_numbers_of_ranks_and_frames_have_borders() -> None:
    assert f"rank is {RANKS_MAX}" in _refusal(StepBatch, rank=RANKS_MAX)
    assert "rank is -1" in _refusal(StepBatch, rank=-1)
    assert "seq is -1" in _refusal(StepBatch, seq=-1)


def test_hubs_of_other_hosts_have_the_borders_of_ranks() -> None:
    """What one end would refuse of a rank is not taken from its hub either."""
    last, least_pid = (RANKS_MAX - 1, PID_MAX), (0, 1)
    assert "rank is" in _refusal(HostHello, ranks=[last, (RANKS_MAX, 1)])
    assert "pid is" in _refusal(HostHello, ranks=[last, (0, PID_MAX + 1)])
    assert "pid is 0" in _refusal(HostHello, ranks=[least_pid, (0, 0)])
    assert f"rank is {RANKS_MAX}" in _refusal(ForRank, rank=RANKS_MAX)


def test_columns_of_steps_are_of_one_length_and_hold_numbers_of_steps() -> None:
    columns = [name for name, kind in StepBatch.__annotations__.items() if kind == list[int]]
    assert len(columns) == 15
    for name in columns:
        told = _refusal(StepBatch, **{name: [1, 2, 3]})
        assert "columns of" in told
        assert "3" in told
    assert "a length or an epoch" in _refusal(StepBatch, wall_ns=[5, -1])
    assert "a length or an epoch" in _refusal(StepBatch, wall_ns=[5, 2**60])
    assert "a length or an epoch" in _refusal(StepBatch, epoch=[0, -1])  # kept by epoch, up to the 16th
    assert "an end that no clock" in _refusal(StepBatch, end_ns=[1, 2**63])
    assert "below 0" in _refusal(StepBatch, hook_steps=-1)
    assert "first_step is -1" in _refusal(StepBatch, first_step=-1)
    assert "first_step" in _refusal(StepBatch, first_step=2**63 - 1)  # no index of any list
    assert "shadow" in _refusal(StepBatch, shadow_us=float("inf"))
    many = [1] * (STEPS_PER_FRAME_MAX + 1)
    assert f"limit is {STEPS_PER_FRAME_MAX}" in _refusal(StepBatch, end_ns=many)


def test_columns_of_a_device_too() -> None:
    assert "1 numbers in wait_ms, 2 in step" in _refusal(DeviceSteps, wait_ms=[1.0])
    assert "no number of a measurement" in _refusal(DeviceSteps, total_ms=[1.0, float("nan")])
    assert "a step that is none" in _refusal(DeviceSteps, step=[-1, 3])


def test_a_hello_is_of_a_process_in_a_world() -> None:
    assert "world_size" in _refusal(Hello, world_size=2**40)  # some code counts through it
    assert "pid is 0" in _refusal(Hello, pid=0)
    assert "pid" in _refusal(Hello, pid=2**40)
    assert "words" in _refusal(Hello, command=["x"] * 1000)
    assert "characters" in _refusal(Hello, torch="x" * 10_000)
    assert "wall_offset_ns" in _refusal(Hello, wall_offset_ns=2**63 - 1)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a\0b", ".hidden", "x" * 65, "-x", "a b", "é"])
def test_a_window_s_name_can_be_part_of_a_file_s(name: str) -> None:
    for kind in (WindowReport, ArmWindow, CancelWindow):
        assert "is no name" in _refusal(kind, window_id=name)
    assert "is no name" in _refusal(StopCommand, command_id=name)


@pytest.mark.parametrize("path", ["", "/", "..", "/etc/", "a/..", "a/.x", "x\0", "/p/rank 0.json"])
def test_a_trace_s_path_ends_in_a_file_s_name(path: str) -> None:
    assert "names no file" in _refusal(WindowReport, path=path)
    assert "names no file" in _refusal(WindowReport, snapshot=path)


def test_an_order_names_a_whole_folder() -> None:
    assert "no absolute path" in _refusal(ArmWindow, directory="profiles")
    assert "no absolute path" in _refusal(ArmWindow, directory="/a\0b")


def test_numbers_of_commands_are_numbers() -> None:
    assert "since" in _refusal(Pull, since=-1)
    assert "bound" in _refusal(RelaunchCommand, bound=float("nan"))
    assert "seek" in _refusal(SeekCommand, elapsed_s=float("inf"))
    assert "len(ranks)" in _refusal(ProfileCommand, ranks=[0] * (RANKS_MAX + 1))


def test_only_steps_may_be_long() -> None:
    long = "x" * SMALL_FRAME_BYTES
    assert f"limit is {SMALL_FRAME_BYTES}" in _refusal(RankEvent, text=long)
    assert f"limit is {SMALL_FRAME_BYTES}" in _refusal(Facts, host=long)
    column = [2**40] * 5000
    columns = [name for name, kind in StepBatch.__annotations__.items() if kind == list[int]]
    batch = msgspec.structs.replace(example(StepBatch), **dict.fromkeys(columns, column))
    frame = codec.encode(batch)
    assert len(frame) > SMALL_FRAME_BYTES
    assert codec.decode_from_rank(frame) == batch


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan"), 2.0**60])
@pytest.mark.parametrize("name", ["fetch_s", "collate_s"])
def test_times_of_making_batches_are_measurements(name: str, seconds: float) -> None:
    loading = LoadingFacts(loader=0, batches=3, fetch_s=1.0, collate_s=1.0)
    loading = msgspec.structs.replace(loading, **{name: seconds})
    assert "loading has a" in _refusal(Facts, facts=RankFacts(loading=loading))


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan"), 2.0**60])
def test_the_time_for_preparing_workers_is_a_measurement(seconds: float) -> None:
    sampling = SamplingFacts(loader=0, sampler="RandomSampler", worker_init_s=seconds)
    assert "sampling" in _refusal(Facts, facts=RankFacts(sampling=sampling))


@pytest.mark.parametrize("size", [-1, 2**63])
def test_the_size_of_a_checkpoint_is_one(size: int) -> None:
    assert "size_bytes" in _refusal(RankEvent, size_bytes=size)
