"""Events of a driver that refuses them: asked again now and then, with one set for good."""

import time
from typing import cast

import pytest

from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.guarded_figures import GuardedFigures
from perftui.trainer.telemetry.nvml_devices import NvmlDevice
from perftui.trainer.telemetry.nvml_library import Nvml
from perftui.trainer.telemetry.nvml_state import NvmlState


class _RefusedError(Exception):
    pass


class _EmptyError(Exception):
    pass


class _Driver:
    """Refuses to register events, or even to make a set, as long as it is told to."""

    NVMLError = _RefusedError
    NVMLError_Timeout = _EmptyError
    nvmlEventTypeXidCriticalError = 8

    def __init__(self) -> None:
        self.refuses = ""
        self.sets = 0
        self.asked = 0

    def nvmlEventSetCreate(self) -> object:
        self.sets += 1
        if self.refuses == "set":
            raise _RefusedError("Not Supported")
        return object()

    def nvmlDeviceRegisterEvents(self, _board: object, _kind: int, _events: object) -> None:
        self.asked += 1
        if self.refuses == "events":
            raise _RefusedError("Not Supported")

    def nvmlEventSetWait_v2(self, _events: object, _timeout_ms: int) -> object:
        raise _EmptyError


@pytest.mark.parametrize("refuses", ["events", "set"])
def test_refused_events_are_asked_for_rarely_and_with_one_set(
    monkeypatch: pytest.MonkeyPatch, refuses: str
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    driver = _Driver()
    driver.refuses = refuses
    device = NvmlDevice(handle=object(), board=object())
    state = NvmlState(cast(Nvml, driver), device)

    def read() -> tuple[list[int] | None, str | None]:
        sheet = GuardedFigures(_RefusedError, CurrentCall())
        found = state._read_xids(sheet)  # pyright: ignore[reportPrivateUsage]
        now[0] += 1.0
        return found, sheet.missing.get("xids")

    assert [read() for _ in range(600)] == [(None, "Not Supported")] * 600
    assert (driver.sets if refuses == "set" else driver.asked) == 10
    driver.refuses = ""
    now[0] += 60.0
    assert read() == ([], None), "listens after all"
    assert driver.sets == (11 if refuses == "set" else 1)
