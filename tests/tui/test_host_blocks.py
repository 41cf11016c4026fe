"""The page of hosts as text: links, clocks, ranks, what happened; and the line at the bottom."""

import dataclasses

import msgspec

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.host_links import HostLink
from perftui.ipc.view import Mark, RunView
from perftui.tui.renderables.headline import header_line, verdict_lines
from perftui.tui.renderables.host_blocks import host_blocks
from perftui.tui.renderables.lines import plain, width_of
from perftui.tui.renderables.status_line import status_lines
from perftui.tui.state import DashboardState, apply
from tests.tui import scenes

LINKS = [
    HostLink(host="gpu07", state="lead", age_s=0.0, ranks=[0]),
    HostLink(
        host="gpu08",
        state="joined",
        age_s=0.2,
        address="10.0.0.8",
        ranks=[1],
        clock_offset_ms=-12.344,
        clock_error_ms=0.112,
        round_trip_ms=0.21,
        joins=2,
        dropped=1_200,
    ),
    HostLink(host="gpu09", state="lost", age_s=7.3, address="10.0.0.9", ranks=[2]),
    HostLink(host="gpu10", state="left", age_s=90.0, exit_code=1),
]
BEGAN = scenes.header().started_unix


def state(links: list[HostLink] = LINKS) -> DashboardState:
    ranks = [msgspec.structs.replace(scenes.rank(n), host=f"gpu0{7 + n}") for n in range(3)]
    ranks[2] = msgspec.structs.replace(ranks[2], state="silent")
    header = scenes.header(
        message="host gpu09 not heard for 7 s; the training may well go on there", attempt=2
    )
    view = RunView(
        header=header,
        ranks=ranks,
        hosts=[scenes.HOST, msgspec.structs.replace(scenes.HOST, name="gpu08")],
        findings=[scenes.WORKERS],
        links=links,
    )
    marks = [
        Mark(unix=BEGAN + 5, rank=None, event="host", text="host gpu08 has joined"),
        Mark(unix=BEGAN + 6, rank=1, event="epoch", text="epoch 1"),
        Mark(
            unix=BEGAN + 65,
            rank=None,
            event="attempt",
            text="attempt 2: the ranks were started again",
            step=0,
        ),
    ]
    return apply(DashboardState("demo-1"), Update(number=1, snapshot=True, view=view, marks=marks))


def text(of: DashboardState, width: int = 100) -> list[str]:
    lines = [drawn for block in host_blocks(of, width) for drawn in block.lines]
    assert all(width_of(drawn) <= width for drawn in lines)
    return [plain(drawn).rstrip() for drawn in lines]


def test_each_host_has_its_link_its_clock_and_its_ranks() -> None:
    drawn = "\n".join(text(state()))
    assert "● gpu07 leads  rank 0" in drawn
    assert "● gpu08 joined  rank 1  joined 2 times" in drawn
    assert "clock -12.34 ± 0.11 ms against the lead's · 1,200 entries lost while the link was away" in drawn
    assert "from 10.0.0.8, 0.21 ms there and back" in "\n".join(text(state(), 140))
    assert "! gpu09 not heard for 7 s; its training may well go on  rank 2 1 silent" in drawn
    assert "clock —" in drawn  # never measured, not zero
    assert "■ gpu10 has left, exit code 1  no rank" in drawn


def test_what_happened_stands_below_with_its_time() -> None:
    drawn = text(state())
    begin = drawn.index("what happened")
    assert [line.split("  ", 1)[1] if "  " in line else line for line in drawn[begin + 1 :]]
    assert drawn[begin + 1].strip() == "0:05  host gpu08 has joined"
    assert drawn[begin + 2].strip() == "1:05  attempt 2: the ranks were started again"


def test_it_is_drawn_on_narrow_screens_and_for_one_host() -> None:
    for width in (20, 40, 60):
        assert text(state(), width)
    alone = dataclasses.replace(state([]), marks=())
    assert text(alone)[0].startswith("● gpu07")
    assert text(DashboardState("r")) == ["○ no host has been read so far"]


def test_a_lost_host_is_seen_on_the_overview() -> None:
    status = plain(status_lines(state(), 120, 2)[0])
    assert status.strip().startswith("2 of 4 hosts gpu09 not heard for 7 s")
    assert "host gpu09 not heard for 7 s" in plain(verdict_lines(state(), 120)[1])
    assert "attempt 2" in plain(header_line(state(), 120))
    joined = state(LINKS[:2])
    assert plain(status_lines(joined, 120, 2)[0]).strip().startswith("2 hosts")
    assert "r relaunches" in plain(verdict_lines(joined, 120)[1])


def test_a_name_from_the_wire_draws_nothing() -> None:
    hostile = [HostLink(host="\x1b[2Jgone", state="joined", age_s=0.0, address="\x1b]0;x\x07", ranks=[])]
    drawn = "".join(text(state(hostile))) + plain(status_lines(state(hostile), 120, 2)[0])
    assert "\x1b" not in drawn
    assert "\x07" not in drawn
