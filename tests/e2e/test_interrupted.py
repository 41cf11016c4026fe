"""Ctrl-C once, twice, three times: the training hears of each as it would without us."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.waiting import wait_until

from .conftest import Desk
from .odd_scripts import BEGIN
from .unharmed import Meanwhile, assert_unharmed

pytestmark = [pytest.mark.torch, pytest.mark.slow]

HEARS = (
    BEGIN
    + """
from pathlib import Path
said, at = Path("said"), [0]

def each(number):
    at[0] = number
    if number == 30:  # from here on nothing is told but what was heard
        said.write_text("0")
        while True:
            time.sleep(0.02)

heard = 0
while heard < int(sys.argv[1]):
    try:
        train(31, each) if heard == 0 else time.sleep(60)
    except KeyboardInterrupt:
        heard += 1
        print("heard", heard, flush=True)
        said.write_text(str(heard))
sys.exit(40 + heard)
"""
)


def interrupts(desk: Desk, count: int) -> Meanwhile:
    """Press Ctrl-C so often, each when the one before has been heard."""

    def press(process: "subprocess.Popen[str]") -> None:
        for number in range(count):
            wait_until(lambda number=number: _said(desk) == str(number), f"it has heard {number}")  # type: ignore[misc]
            process.send_signal(signal.SIGINT)
        wait_until(lambda: _said(desk) == str(count), "all are heard")
        (desk.folder / "said").unlink()

    return press


def _said(desk: Desk) -> str:
    path = desk.folder / "said"
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize("count", [*(pytest.param(count, marks=pytest.mark.long) for count in (1, 2)), 3])
def test_each_is_heard(desk: Desk, count: int) -> None:
    press = interrupts(desk, count)
    ours = assert_unharmed(desk, desk.script(HEARS), str(count), plainly=press, meanwhile=press)
    assert ours.code == 40 + count


@pytest.mark.long
def test_an_interrupted_script_without_a_handler(desk: Desk) -> None:
    """Python ends by KeyboardInterrupt, for a shell 130, with us as without."""
    script = desk.script(HEARS.replace("except KeyboardInterrupt", "except ZeroDivisionError"))

    def press(process: "subprocess.Popen[str]") -> None:
        wait_until(lambda: _said(desk) == "0", "it trains")
        process.send_signal(signal.SIGINT)
        process.wait(60)
        (desk.folder / "said").unlink()

    assert assert_unharmed(desk, script, "1", plainly=press, meanwhile=press).code == 130


@pytest.mark.long
def test_a_window_and_an_interrupt_at_once(desk: Desk) -> None:
    press = interrupts(desk, 1)

    def with_window(process: "subprocess.Popen[str]") -> None:
        wait_until(lambda: _said(desk) == "0", "it trains")
        desk.start("profile", desk.live_run())
        time.sleep(1.0)
        press(process)

    ours = assert_unharmed(desk, desk.script(HEARS), "1", plainly=press, meanwhile=with_window)
    assert ours.code == 41


@pytest.mark.long
def test_in_a_terminal_the_group_is_interrupted_and_each_process_once(desk: Desk) -> None:
    """As a terminal does it: SIGINT to the whole foreground group, of which the training is none."""
    script = desk.script(HEARS)

    def press(process: "subprocess.Popen[str]") -> None:
        wait_until(lambda: _said(desk) == "0", "it trains")
        os.killpg(process.pid, signal.SIGINT)
        wait_until(lambda: _said(desk) == "1", "it is heard")

    from .conftest import PERFTUI

    process = subprocess.Popen(
        [*PERFTUI, "run", "--no-tui", "--", sys.executable, str(script), "1"],
        cwd=desk.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    press(process)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 41, error
    assert out.count("heard") == 1
