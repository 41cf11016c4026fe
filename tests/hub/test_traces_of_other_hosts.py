"""Traces brought from other hosts: whole, under names of the lead's own, given up where need be."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.host_messages import AskTrace, TracePart
from perftui.ipc.messages import PROTOCOL_VERSION, FromRank, Hello, WindowReport
from perftui.ipc.recording import Entry
from perftui.trainer.hub import trace_fetching
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.joined_host import JoinedHost
from perftui.trainer.hub.trace_fetching import TraceFetching
from perftui.trainer.hub.trace_giving import PIECE_BYTES, trace_part

TRACE = bytes(range(256)) * 3000
"""More than two pieces."""
NAME = "rank3_step40_n2_ab12.pt.trace.json.gz"


def report(path: str | None = NAME, window_id: str = "ab12") -> WindowReport:
    return WindowReport(
        run_id="r",
        host="h2",
        rank=3,
        seq=9,
        window_id=window_id,
        state="done",
        start_step=40,
        steps=2,
        path=path,
        snapshot="a.pickle",
    )


class Sides:
    """The lead's side and the member's, with a wire that may be bent between them."""

    def __init__(self, tmp_path: Path, told: WindowReport) -> None:
        self.there, self.here = tmp_path / "there", tmp_path / "here"
        for folder in (self.there, self.here):
            folder.mkdir()
        self.fold = RunFold()
        for message in (_hello(), told):
            self.fold.apply(Entry(unix=1.0, message=message))
        self.host = JoinedHost("h2", peer=b"p", state="joined")
        self.asked: list[AskTrace] = []
        self.delivered: list[WindowReport] = []
        self.fetching = TraceFetching(self.here, lambda _host, ask: self.asked.append(ask), self._deliver)

    def _deliver(self, _host: JoinedHost, message: FromRank, _unix: float) -> None:
        assert isinstance(message, WindowReport)
        self.delivered.append(message)

    def run(self, bend: Callable[[TracePart], TracePart] = lambda part: part) -> None:
        for _ in range(50):
            self.fetching.turn()
            if not self.asked:
                return
            part = trace_part(self.asked.pop(0), self.fold, self.there)
            self.fetching.take(self.host, bend(part))

    def files(self) -> list[str]:
        return sorted(path.name for path in self.here.iterdir())


def _hello() -> Hello:
    return Hello(
        run_id="r",
        host="h2",
        rank=3,
        seq=0,
        protocol=PROTOCOL_VERSION,
        pid=1,
        start_ticks=1,
        local_rank=0,
        world_size=4,
        python="3",
        torch="2",
        device="cpu",
        command=[],
        wall_offset_ns=0,
    )


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    made = Sides(tmp_path, report())
    (made.there / NAME).write_bytes(TRACE)
    return made


def test_a_trace_comes_whole_and_then_the_word_of_it(sides: Sides) -> None:
    assert len(TRACE) > 2 * PIECE_BYTES
    assert sides.fetching.holds(sides.host, report(), 1.0)
    sides.run()
    (told,) = sides.delivered
    assert told.path == NAME
    assert told.snapshot is None
    assert (sides.here / NAME).read_bytes() == TRACE
    assert sides.files() == [NAME]


def test_a_report_without_a_trace_is_not_held(sides: Sides) -> None:
    assert not sides.fetching.holds(sides.host, report(path=None), 1.0)
    assert not sides.fetching.holds(sides.host, report(window_id="../../x"), 1.0)
    assert not sides.fetching.holds(sides.host, report(window_id="a/b"), 1.0)


_GIVEN_UP: list[dict[str, object]] = [
    {"missing": "no such file"},
    {"total": 10},
    {"total": trace_fetching.TRACE_MAX_BYTES + 1},
    {"data": b""},
]
_LEFT: list[dict[str, object]] = [{"offset": 1}, {"rank": 4}, {"window_id": "other"}]


@pytest.mark.parametrize("changes", _GIVEN_UP)
def test_what_is_not_as_announced_is_given_up(sides: Sides, changes: dict[str, object]) -> None:
    sides.fetching.holds(sides.host, report(), 1.0)
    sides.run(lambda part: msgspec.structs.replace(part, **changes))
    (told,) = sides.delivered
    assert told.path is None
    assert told.reason is not None
    assert told.reason.startswith("its trace stayed on host h2")
    assert sides.files() == []


@pytest.mark.parametrize("changes", _LEFT)
def test_a_piece_that_nobody_asked_for_is_left(sides: Sides, changes: dict[str, object]) -> None:
    sides.fetching.holds(sides.host, report(), 1.0)
    sides.run(lambda part: msgspec.structs.replace(part, **changes))
    assert sides.delivered == []
    assert sides.files() == []


def test_without_a_piece_for_long_it_is_given_up(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    sides.fetching.holds(sides.host, report(), 1.0)
    sides.fetching.turn()
    monkeypatch.setattr(trace_fetching, "_GIVE_UP_S", -1.0)
    sides.fetching.turn()
    assert sides.delivered[0].path is None


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret", "sub/../../secret", "link", "fifo", "folder"])
def test_a_member_gives_files_of_its_run_alone(tmp_path: Path, path: str) -> None:
    sides = Sides(tmp_path, report(path=path))
    (tmp_path / "secret").write_text("secret")
    (sides.there / "link").symlink_to(tmp_path / "secret")
    (sides.there / "folder").mkdir()
    os.mkfifo(sides.there / "fifo")
    part = trace_part(AskTrace(window_id="ab12", rank=3, offset=0), sides.fold, sides.there)
    assert part.data == b""
    assert part.missing


def test_a_member_gives_nothing_that_no_rank_has_told_of(tmp_path: Path) -> None:
    sides = Sides(tmp_path, report())
    for ask in (AskTrace(window_id="x", rank=3, offset=0), AskTrace(window_id="ab12", rank=0, offset=0)):
        assert trace_part(ask, sides.fold, sides.there).missing
    (sides.there / NAME).write_bytes(b"abc")
    beyond = trace_part(AskTrace(window_id="ab12", rank=3, offset=-5), sides.fold, sides.there)
    assert beyond.data == b"abc"
