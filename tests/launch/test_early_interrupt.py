"""Ctrl-C before the dashboard's first frame: the training goes on, and that is said, with how to end it."""

import argparse
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from perftui.ipc.places import RunPlaces, run_places
from perftui.trainer.launch import foreground
from perftui.trainer.launch.live import stop
from perftui.trainer.launch.noted_interrupts import interrupts_noted
from perftui.trainer.launch.runs import list_runs
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import launch, wait_for_exit
from perftui.tui.verbs import dashboard

PARSED = argparse.Namespace(config=None, ascii=False, read_only=False)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def press_then(go_on: Callable[..., RunPlaces], *words: object) -> RunPlaces:
    press()
    return go_on(*words)


def go_on_then_press(go_on: Callable[..., RunPlaces], *words: object) -> RunPlaces:
    places = go_on(*words)
    press()
    return places


def interrupted_load(_parsed: argparse.Namespace) -> Callable[[str], int]:
    press()
    raise AssertionError("it is not interrupted")


def interrupted_opening(_parsed: argparse.Namespace) -> Callable[[str], int]:
    def run_dashboard(_run_id: str) -> int:
        press()
        raise AssertionError("it is not interrupted")

    return run_dashboard


@pytest.mark.parametrize(
    ("launches", "loads"),
    [
        (partial(press_then, launch), None),
        (partial(go_on_then_press, launch), None),
        (launch, interrupted_load),
        (launch, interrupted_opening),
    ],
    ids=["as-it-begins", "as-it-has-begun", "while-the-dashboard-loads", "while-it-opens"],
)
def test_the_run_that_goes_on_is_named(
    launches: Callable[..., RunPlaces],
    loads: Callable[..., object] | None,
    script: Callable[[str], list[str]],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = LaunchSpec(script("import time; time.sleep(600)"), home, stdio="pty")
    monkeypatch.setattr(dashboard, "check_size", lambda: None)
    monkeypatch.setattr(foreground, "launch", launches)
    monkeypatch.setattr(dashboard, "load_dashboard", loads)
    with pytest.raises(KeyboardInterrupt):
        dashboard.run_with_dashboard(spec, None, PARSED)
    (line,) = list_runs()
    assert line.running
    assert capsys.readouterr().err.splitlines()[-3:] == [
        "perftui: the training goes on",
        f"perftui: to see it again: perftui {line.run_id}",
        f"perftui: to end it: perftui stop {line.run_id}",
    ]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert stop(line, at_once=True).outcome == "stopped"


def test_a_training_that_has_ended_by_then_is_told_as_ended(
    script: Callable[[str], list[str]],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def load(_parsed: argparse.Namespace) -> Callable[[str], int]:
        (line,) = list_runs()
        assert wait_for_exit(run_places(line.run_id), 30) is not None
        return interrupted_load(_parsed)

    monkeypatch.setattr(dashboard, "check_size", lambda: None)
    monkeypatch.setattr(dashboard, "load_dashboard", load)
    with pytest.raises(KeyboardInterrupt):
        dashboard.run_with_dashboard(LaunchSpec(script(""), home, stdio="pty"), None, PARSED)
    assert " finished, exit code 0" in capsys.readouterr().err.splitlines()[-1]


def test_a_second_interrupt_acts_and_an_ignored_one_stays_ignored() -> None:
    with interrupts_noted() as noted:
        press()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert noted == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_noted() as noted:
            press()
        assert noted == []
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
