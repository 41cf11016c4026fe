"""What `perftui status` prints of a summary."""

import json
import math
from typing import Any

import msgspec
import pytest

from perftui.ipc.summary import DeviceTime, Summary
from perftui.ipc.view import DeviceView, StepStats
from perftui.trainer.hub.summaries import not_finite
from perftui.trainer.launch.plain_text import clock, status_text
from tests.reporting.made_report import rank, summary


def _printed(made: Summary) -> list[str]:
    told: dict[str, Any] = json.loads(msgspec.json.encode(made))
    return status_text(told)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "00:00:00"),
        (3725.9, "01:02:05"),
        (86_399.0, "23:59:59"),
        (86_400.0, "1 d 00:00:00"),
        (30 * 3600 + 61.0, "1 d 06:01:01"),
        (40 * 86_400 + 1.0, "40 d 00:00:01"),
        (-3.0, "00:00:00"),
    ],
)
def test_the_elapsed_time_has_its_days(seconds: float, said: str) -> None:
    assert clock(seconds) == said
    assert _printed(summary(elapsed_s=seconds))[0].endswith(f", {said}")


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (None, "—"),
        (0.0, "0"),
        (1.25, "1.25"),
    ],
)
def test_a_loss_that_is_no_number_is_not_one_that_was_never_measured(loss: float | None, said: str) -> None:
    printed = _printed(summary(ranks=[rank(0, loss=loss, loss_not_finite=not_finite(loss))]))
    head = next(at for at, text in enumerate(printed) if text.startswith("RANK"))
    assert printed[head + 1].split()[-2] == said
    assert printed[head].split()[-2] == "LOSS"


@pytest.mark.parametrize(
    ("step_ms", "said"), [(0.04, "0.0400"), (0.421, "0.421"), (4.21, "4.21"), (142.34, "142.3")]
)
def test_a_step_of_microseconds_is_no_zero(step_ms: float, said: str) -> None:
    stats = StepStats(mean=step_ms, p50=step_ms, p90=step_ms, p99=step_ms)
    least = step_ms / 100
    parts = DeviceView(
        sampled_steps=9, step_ms=step_ms, wait_ms=least, forward_ms=least, backward_ms=least,
        optimizer_ms=least, other_ms=least, h2d_ms=None, comm_exposed_ms=None,
    )  # fmt: skip
    device = DeviceTime(parts=parts)
    printed = _printed(summary(ranks=[rank(0, step_ms=stats, samples_per_s=step_ms, device_ms=device)]))
    head = next(at for at, text in enumerate(printed) if text.startswith("RANK"))
    titles, row = printed[head].split(), printed[head + 1].split()
    assert [row[titles.index(title)] for title in ("ms/STEP", "p99", "SAMPLES/s")] == [said] * 3
    told = next(text for text in printed if "device " in text and " ms: " in text)
    assert float(told.partition("device ")[2].split()[0]) == pytest.approx(step_ms, rel=0.005)
    assert float(told.partition("wait ")[2].split()[0]) > 0
