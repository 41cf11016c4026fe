"""Steps looked at in detail: how many, what their marks mean, and what two real ranks wait for each other."""

import json
import sys
from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import FLAG_SAMPLED, DeviceSteps, StepBatch
from perftui.ipc.step_record import StepRecord
from perftui.trainer.hub.device_log import DeviceLog
from perftui.trainer.probe import stamps
from perftui.trainer.probe.device_times import DeviceTimes, device_times
from perftui.trainer.probe.device_track import NO_COPY
from perftui.trainer.probe.phase_sampling import FEWEST, MOST, stride_within, wanted_stride
from perftui.trainer.probe.step_details import StepDetails

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    ("text", "stride"), [("all", 1), ("off", 0), ("7", 7), ("", None), ("0", None), ("often", None)]
)
def test_the_environment_may_say_how_many_steps_are_sampled(text: str, stride: int | None) -> None:
    assert wanted_stride(text) == stride


def test_the_budget_says_how_many_steps_are_sampled() -> None:
    assert stride_within(120.0, 40_000.0) == 7  # 20 us a step are allowed
    assert stride_within(120.0, 500.0) == 41  # 3 us, the least there is
    assert stride_within(1.0, 1e6) == FEWEST
    assert stride_within(1e9, 1.0) == MOST
    assert all(stride_within(cost, 1000.0) % 2 for cost in range(1, 400, 13))


def test_marks_are_the_parts_of_a_step_on_the_device() -> None:
    marks = [
        (stamps.FETCH_BEGIN, 5.0),
        (stamps.FETCH_END, 1.0),
        (stamps.H2D_BEGIN, 2.0),
        (stamps.H2D_END, 0.5),
        (stamps.H2D_BEGIN, 0.25),
        (NO_COPY, 10.0),
        (stamps.BACKWARD_BEGIN, 20.0),
        (stamps.COMM_BEGIN, 3.0),
        (stamps.BACKWARD_END, 0.125),
        (stamps.OPTIMIZER_BEGIN, 4.0),
        (stamps.OPTIMIZER_END, 0.0625),
    ]
    times = device_times(marks)
    assert times == DeviceTimes(
        total=45.9375, wait=5.0, h2d=2.0, forward=11.75, backward=20.0, comm=3.0, optimizer=4.0, other=0.1875
    )


def test_accumulated_micro_batches_add_up_and_what_was_not_there_is_not_zero() -> None:
    half = [(stamps.FETCH_BEGIN, 1.0), (stamps.FETCH_END, 2.0), (stamps.BACKWARD_BEGIN, 3.0)]
    rest = [(stamps.BACKWARD_END, 0.0), (stamps.OPTIMIZER_BEGIN, 4.0), (stamps.OPTIMIZER_END, 0.0)]
    times = device_times([*half, *half, *rest])
    assert times is not None
    assert (times.wait, times.forward, times.backward, times.optimizer) == (2.0, 4.0, 6.0, 4.0)
    assert (times.h2d, times.comm) == (-1.0, -1.0)


def test_a_closures_phases_are_its_own_on_the_device_too() -> None:
    """As Lightning trains: forward and backward run inside the optimizer's step; LBFGS has them twice."""
    run = [(stamps.BACKWARD_BEGIN, 30.0), (stamps.BACKWARD_END, 4.0)]
    begin = [(stamps.FETCH_BEGIN, 1.0), (stamps.FETCH_END, 2.0), (stamps.OPTIMIZER_BEGIN, 10.0)]
    times = device_times([*begin, *run, (stamps.OPTIMIZER_END, 0.5)])
    assert times is not None
    assert (times.forward, times.backward, times.optimizer, times.other) == (12.0, 30.0, 4.0, 0.5)
    twice = device_times([*begin, *run, *run, (stamps.OPTIMIZER_END, 0.5)])
    assert twice is not None
    assert (twice.forward, twice.backward, twice.optimizer, twice.other) == (16.0, 60.0, 4.0, 0.5)


def test_without_a_fetch_nobody_knows_where_the_forward_began() -> None:
    marks = [
        (stamps.FETCH_BEGIN, 0.25),  # the mark of a step's beginning
        (stamps.OPTIMIZER_END, 3.0),
        (stamps.BACKWARD_BEGIN, 4.0),
        (stamps.BACKWARD_END, 0.5),
        (stamps.OPTIMIZER_BEGIN, 2.0),
    ]
    assert device_times(marks) == DeviceTimes(
        total=9.75, wait=-1.0, h2d=-1.0, forward=-1.0, backward=4.0, comm=-1.0, optimizer=2.0, other=3.75
    )
    within = [(stamps.OPTIMIZER_BEGIN, 3.0), (stamps.BACKWARD_BEGIN, 4.0), (stamps.BACKWARD_END, 0.5)]
    times = device_times(within)
    assert times is not None
    assert (times.wait, times.forward, times.optimizer) == (-1.0, 3.0, 0.5), "a closure's forward is known"


def test_a_stretch_without_training_is_no_step() -> None:
    assert device_times([(stamps.FETCH_BEGIN, 1.0), (stamps.FETCH_END, 2.0)]) is None
    assert device_times([]) is None


def record(step: int, end_ns: int) -> StepRecord:
    return StepRecord(step, end_ns, 100, 0, 0, 0, 0, 0, 0, 1, 0, 0)


def test_details_go_to_the_step_in_which_they_happened() -> None:
    details = StepDetails()
    details.sampled(100, copies=True)
    details.copied(110, 117)
    details.copied(120, 123)
    details.communicated(150, 160)
    details.sampled(300, copies=False)
    details.worker = 2
    first, second, third, fourth = (details.complete(record(n, 100 * (n + 1))) for n in range(4))
    assert (first.h2d_ns, first.comm_ns, first.flags) == (-1, -1, 0)
    assert (second.h2d_ns, second.comm_ns, second.flags) == (10, 10, FLAG_SAMPLED)
    assert (third.h2d_ns, third.comm_ns, third.flags) == (-1, -1, 0)
    assert (fourth.h2d_ns, fourth.flags, fourth.worker) == (-1, FLAG_SAMPLED, 2)


def device_message(first: int, *rows: tuple[float, ...]) -> DeviceSteps:
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = ("wait_ms", "h2d_ms", "forward_ms", "backward_ms", "comm_ms", "optimizer_ms", "other_ms")
    return DeviceSteps(
        run_id="r",
        host="h",
        rank=0,
        seq=0,
        step=list(range(first, first + len(rows))),
        total_ms=[sum(value for value in row if value >= 0) for row in rows],
        **dict(zip(names, columns, strict=True)),
    )


def test_the_hub_keeps_the_mean_of_sampled_steps_past_the_warm_up() -> None:
    log = DeviceLog()
    assert log.view() is None
    log.add(device_message(8, (9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0), (9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0)))
    assert log.view() is None
    log.add(device_message(10, (1.0, 2.0, 3.0, 4.0, -1.0, 5.0, 6.0), (3.0, -1.0, 5.0, 6.0, -1.0, 7.0, 8.0)))
    view = log.view()
    assert view is not None
    assert (view.sampled_steps, view.step_ms) == (2, 25.0)
    assert (view.wait_ms, view.h2d_ms, view.forward_ms, view.backward_ms) == (2.0, 2.0, 4.0, 5.0)
    assert (view.comm_exposed_ms, view.optimizer_ms, view.other_ms) == (None, 6.0, 7.0)
    newest = log.view(since_step=11)
    assert newest is not None
    assert newest.sampled_steps == 1
    log.add(device_message(12, (-1.0, -1.0, -1.0, 6.0, -1.0, 7.0, 8.0)))
    unfed = log.view(since_step=12)
    assert unfed is not None
    assert (unfed.wait_ms, unfed.forward_ms, unfed.other_ms) == (None, None, 8.0)


WAITING_RANKS = """
import json, os, time
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
spent = []
for batch in DataLoader(torch.randn(160, 64), batch_size=4):
    loss = model(batch).mean()
    if rank == 1:
        time.sleep(0.02)
    began = time.perf_counter_ns()
    loss.backward()
    spent.append(time.perf_counter_ns() - began)
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps([rank, spent]) + "\\n", end="", flush=True)  # one write: two ranks print at once
dist.destroy_process_group()
"""


def test_a_rank_that_waits_for_another_in_its_backward_is_seen_to(hub: "Hub") -> None:
    launcher = ["-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone"]
    outcome = hub.train(WAITING_RANKS, launcher=[sys.executable, *launcher], PERFTUI_PHASES="3")
    assert outcome.exit_code == 0, outcome.stderr
    spent = dict(json.loads(line) for line in outcome.stdout.splitlines())
    for rank in (0, 1):
        batches = outcome.of(StepBatch, rank)
        flags = [flag for batch in batches for flag in batch.flags]
        comm = [ns for batch in batches for ns in batch.comm_ns or [-1] * len(batch.flags)]
        sampled = [step for step, flag in enumerate(flags) if flag & FLAG_SAMPLED]
        assert len(sampled) >= 12
        assert all((comm[step] >= 0) == (step in sampled) for step in range(40))
        assert all(comm[step] <= spent[rank][step] for step in sampled)
        waited = sum(comm[step] for step in sampled) / sum(spent[rank][step] for step in sampled)
        if rank == 0:
            assert waited > 0.8
            assert sum(comm[step] for step in sampled) > len(sampled) * 15_000_000
    assert not outcome.column("h2d_ns")
