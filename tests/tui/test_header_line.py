"""The first line of the screen: a name of any length takes nothing that must be seen, and claims nothing."""

import pytest
from rich.cells import cell_len

from perftui.tui.renderables.headline import header_line
from perftui.tui.renderables.lines import plain
from perftui.tui.state import DashboardState
from tests.tui import scenes

NAMES = ("x" * 300, "データ" * 40, "a rather long name of a run that says it all")


def drawn(width: int, note: str = "", slow_s: int | None = None, **changes: object) -> str:
    header = scenes.header(**changes)
    return plain(header_line(DashboardState(run_id="r", header=header), width, note, slow_s))


@pytest.mark.parametrize("name", NAMES)
def test_a_long_name_gives_way_to_state_step_and_time(name: str) -> None:
    for width in range(20, 301):
        line = drawn(width, name=name)
        assert cell_len(line) == width
        assert "● training" in line, width
        assert line.endswith("4:12 ")
        assert "update" not in line
        assert "slow" not in line
    for width in (44, 60, 80, 120):
        line = drawn(width, name=name)
        assert line.startswith(f" perftui {name[:2]}")
        assert ("step 412" in line) is (width > 44)
    assert "step 412  epoch 1: 28/384" in drawn(120, name=name)


@pytest.mark.parametrize("name", NAMES)
def test_a_long_name_gives_way_to_the_word_on_a_slow_terminal(name: str) -> None:
    assert "one update in 2 s" in drawn(80, slow_s=2, name=name)
    assert "one update in 2 s" in drawn(120, slow_s=2, name=name)


def test_the_host_gives_way_to_the_run() -> None:
    line = drawn(120, host="gpu07." + "domain." * 20 + "org")
    assert line.startswith(" perftui resnet18-jpeg  ● training  step 412  epoch 1: 28/384")
    assert "gpu07.domain." in line
    assert line.endswith("…  4:12 ")


@pytest.mark.parametrize("name", [*NAMES, "train"])
def test_on_a_narrow_screen_it_is_still_seen_that_the_picture_is_old(name: str) -> None:
    for width in range(20, 121):
        line = drawn(width, "9 min ago, step 400, the earliest here", name=name)
        assert "⏸ 9 min" in line, width
        assert cell_len(line) == width
