"""Windows in real trainings with validations, other ranks and profilers of their own."""

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perftui.ipc.messages import FLAG_PROFILED, WindowReport

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.long]

VALIDATING = """
import contextlib, time, torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
training = DataLoader(TensorDataset(torch.randn(160, 8)), batch_size=4)
validation = DataLoader(TensorDataset(torch.randn(48, 8)), batch_size=4)
for step, (batch,) in enumerate(training):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
    if step + 1 in AFTER:
        with torch.no_grad() if not GRAD else contextlib.nullcontext():
            for (batch,) in validation:
                torch.special.erfcx(batch)
    time.sleep(0.3 if step < 7 else 0.01)  # the window must be armed by then
time.sleep(1.0)
"""
MARK = "aten::special_erfcx"


def report_of(hub: "Hub", after: list[int], *, grad: bool = False) -> tuple[WindowReport, list[int]]:
    script = VALIDATING.replace("AFTER", str(after)).replace("GRAD", str(grad))
    outcome = hub.train(script, PERFTUI_PROFILE="10:3", KINETO_LOG_LEVEL="6")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.steps() == 40
    flagged = [step for step, flags in enumerate(outcome.column("flags")) if flags & FLAG_PROFILED]
    return outcome.of(WindowReport)[-1], flagged


def names_in(report: WindowReport) -> list[str]:
    assert report.path is not None
    trace: dict[str, Any] = json.loads(gzip.decompress(Path(report.path).read_bytes()))
    return [event["name"] for event in trace["traceEvents"] if event.get("ph") == "X"]


@pytest.mark.parametrize(
    ("after", "state", "steps"),
    [
        ([13], "done", 3),
        ([12], "truncated", 2),
        ([8, 9], "done", 3),
        ([8, 9, 10, 11, 12, 13], "truncated", 1),
    ],
)
def test_a_validation_is_never_in_a_window(hub: "Hub", after: list[int], state: str, steps: int) -> None:
    report, flagged = report_of(hub, after)
    assert (report.state, report.start_step, report.steps) == (state, 10, steps)
    assert set(range(10, 10 + steps)) <= set(flagged)
    names = names_in(report)
    assert [name for name in names if name.startswith("ProfilerStep")] == [
        f"ProfilerStep#{step}" for step in range(10, 10 + steps)
    ]
    assert names.count("Optimizer.step#SGD.step") == steps
    assert MARK not in names
    if state == "truncated":
        assert report.reason == f"a validation began after {steps} of 3 steps"


def test_a_validation_that_leaves_gradients_on_ends_a_window_after_some_batches(hub: "Hub") -> None:
    report, _ = report_of(hub, [12], grad=True)
    assert (report.state, report.steps) == ("truncated", 2)
    assert names_in(report).count(MARK) < 12


def test_the_environment_s_window_is_short_as_any_first(hub: "Hub") -> None:
    outcome = hub.train(
        VALIDATING.replace("AFTER", "[]").replace("GRAD", "False"),
        PERFTUI_PROFILE="10:20,every=100:3",
        KINETO_LOG_LEVEL="6",
    )
    report = outcome.of(WindowReport)[-1]
    assert (report.state, report.start_step, report.steps) == ("done", 10, 3)
    assert report.reason is not None
    assert "3 of 20 steps" in report.reason
    assert report.events == len(names_in(report))
