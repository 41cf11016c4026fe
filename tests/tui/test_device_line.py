"""A step on the device's own timeline, in a line, beside the shares of the host."""

import msgspec
import pytest

from perftui.ipc.view import Shares
from perftui.tui.renderables.device_line import device_line
from perftui.tui.renderables.lines import plain, width_of
from perftui.tui.renderables.phase_bar import legend, phase_bar
from tests.tui import scenes

ALL = Shares(
    loader_wait=0.12, h2d=0.03, forward=0.25, backward=0.4, comm_exposed=0.1, optimizer=0.06, other=0.04
)


def test_every_part_and_how_many_steps_it_is_known_from() -> None:
    assert plain(device_line(scenes.DEVICE, 116)) == (
        "device 60.8 ms: wait 8.3 copy 0.4 fwd 16.2 bwd 20.5 comm 1.2 opt 3.9 other 10.3 (50 sampled)"
    )


def test_where_room_is_scarce_the_number_goes_first_then_the_smallest_but_never_the_wait() -> None:
    assert plain(device_line(scenes.DEVICE, 85)) == (
        "device 60.8 ms: wait 8.3 copy 0.4 fwd 16.2 bwd 20.5 comm 1.2 opt 3.9 other 10.3"
    )
    assert plain(device_line(scenes.DEVICE, 52)) == "device 60.8 ms: wait 8.3 fwd 16.2 bwd 20.5"
    least = msgspec.structs.replace(scenes.DEVICE, wait_ms=0.0)
    assert plain(device_line(least, 34)) == "device 60.8 ms: wait 0.0 bwd 20.5"


@pytest.mark.parametrize("width", [5, 14, 20, 40, 60, 80, 200])
def test_no_line_is_wider_than_its_room(width: int) -> None:
    assert width_of(device_line(scenes.DEVICE, width)) <= width


def test_what_was_not_seen_is_left_out_and_a_trifle_is_no_zero() -> None:
    alone = msgspec.structs.replace(scenes.DEVICE, h2d_ms=None, comm_exposed_ms=None, optimizer_ms=0.04)
    assert "fwd 16.2 bwd 20.5 opt 0.0400 other" in plain(device_line(alone, 116))
    assert "copy" not in plain(device_line(alone, 116))
    assert "comm" not in plain(device_line(alone, 116))


def test_a_short_step_is_told_in_thousandths() -> None:
    short = msgspec.structs.replace(scenes.DEVICE, step_ms=0.864, wait_ms=0.1, forward_ms=0.25)
    assert plain(device_line(short, 116)).startswith("device 0.864 ms: wait 0.100 copy 0.400 fwd 0.250")


def test_a_step_of_microseconds_is_no_zero_either() -> None:
    parts = dict.fromkeys(
        ("wait_ms", "h2d_ms", "forward_ms", "backward_ms", "comm_exposed_ms", "other_ms"), 0.0005
    )
    short = msgspec.structs.replace(scenes.DEVICE, step_ms=0.004, optimizer_ms=0.001, **parts)
    assert plain(device_line(short, 116)).startswith("device 0.00400 ms: wait 0.00050 copy 0.00050")


def test_copies_and_communication_are_in_the_bar_and_its_legend() -> None:
    assert plain(phase_bar(ALL, 100, textured=True)) == (
        "w" * 12 + "c" * 3 + "f" * 25 + "b" * 40 + "m" * 10 + "o" * 6 + "." * 4
    )
    assert plain(legend(ALL, 130)) == (
        "■ wait 12 %  ■ copy to GPU 3.0 %  ■ forward 25 %  ■ backward 40 %  ■ communication 10 %  "
        "■ optimizer 6.0 %  ■ other 4.0 %"
    )
