"""A recording that outgrew its budget: what its middle held was not lost, and who came there is known."""

from collections.abc import Callable
from pathlib import Path

import pytest

from perftui.ipc.facts import ProcessFacts, RankFacts
from perftui.ipc.host_links import HostEvent
from perftui.ipc.messages import Effective, Facts, FromRank, Goodbye
from perftui.ipc.recording import Entry, RecordingWriter, read_recording
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.rank_track import RankTrack
from perftui.trainer.hub.standing import standing
from tests.hub.made_messages import OFFSET_NS, START_UNIX, batch, hello
from tests.made_loader import LOADER

BUDGET = 512 * 1024
STEPS = 50
NOW = START_UNIX + 1e6


class Recorded:
    """A live hub's fold, and the recording that it writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fold = RunFold()
        self.now = START_UNIX
        self.writer = RecordingWriter(folder, BUDGET, lambda: standing(self.fold, self.now))
        self._next: dict[int, tuple[int, int]] = {}

    def hear(self, *messages: FromRank) -> None:
        for message in messages:
            self.take(Entry(unix=self.now, message=message))

    def take(self, entry: Entry) -> None:
        assert self.fold.apply(entry)
        self.writer.append(entry)

    def greet(self, rank: int, pid: int) -> None:
        self._next[rank] = (0, 1)
        self.hear(hello(rank, pid=pid, world_size=3))
        self._say(rank)

    def _say(self, rank: int) -> None:
        """Tell settings, facts and a batch of steps."""
        step, seq = self._next[rank]
        self._next[rank] = (step + STEPS, seq + 1)
        self.hear(batch(step, STEPS, seq, rank=rank))

    def train(self, *ranks: int, batches: int) -> None:
        for _ in range(batches):
            self.now += 0.5
            for rank in ranks:
                self._say(rank)

    def lose(self, rank: int, batches: int) -> None:
        """Let frames be lost on their way."""
        step, seq = self._next[rank]
        self._next[rank] = (step + batches * STEPS, seq + batches)

    def tell(self, rank: int, kind: Callable[..., FromRank], **fields: object) -> None:
        step, seq = self._next[rank]
        self._next[rank] = (step, seq + 1)
        self.hear(kind(run_id="r", host="h", rank=rank, seq=seq, **fields))

    def read_again(self) -> RunFold:
        fold = RunFold()
        self.writer.close()  # the next entry begins a new segment
        entries = list(read_recording(self.folder))
        assert sum(entry.after_hole for entry in entries) == 1, "the test is about a hole"
        for entry in entries:
            assert fold.apply(entry)
        return fold


def known(track: RankTrack) -> dict[str, object]:
    """What does not depend on the steps that are gone."""
    names = (
        "hello", "next_seq", "lost_frames", "dropped", "settings", "settings_failed", "loader", "read_ahead",
        "facts", "device", "gpu_uuid", "ended", "attempt",
    )  # fmt: skip
    return {name: getattr(track, name) for name in names}


def tell_settings(made: Recorded, rank: int, workers: int) -> None:
    made.tell(
        rank, Effective, settings={"loader.num_workers": workers}, failed={"x": "no"}, loader=LOADER,
        device="cuda:1", gpu_uuid="GPU-1",
    )  # fmt: skip
    process = ProcessFacts(
        rss_mib=100.0 + workers, threads=workers, voluntary_switches=1, involuntary_switches=2
    )
    at_ns = int(made.now * 1e9) - OFFSET_NS - 250_000_000
    made.tell(rank, Facts, at_ns=at_ns, facts=RankFacts(process=process, environment={"A": str(workers)}))
    made.tell(rank, Effective, settings={"loader.num_workers": workers}, failed={"x": "no"})


def test_a_hole_in_the_recording_is_no_loss_and_a_real_one_is(tmp_path: Path) -> None:
    made = Recorded(tmp_path)
    made.greet(0, pid=100)
    made.train(0, batches=400)
    again = made.read_again()
    assert len(again.ranks[0].log) == len(made.fold.ranks[0].log) == 401 * STEPS
    assert again.ranks[0].log.appended < 401 * STEPS, "the middle is gone"
    assert again.ranks[0].lost_frames == 0
    made.lose(0, batches=3)
    made.train(0, batches=5)
    assert made.read_again().ranks[0].lost_frames == made.fold.ranks[0].lost_frames == 3


def test_ranks_that_came_late_or_were_started_again_in_a_hole_are_known(tmp_path: Path) -> None:
    made = Recorded(tmp_path)
    made.greet(0, pid=100)
    made.greet(1, pid=101)
    for rank in (0, 1):
        tell_settings(made, rank, workers=1)
    made.train(0, 1, batches=40)
    made.greet(2, pid=102)  # late
    for rank in (0, 1, 2):
        tell_settings(made, rank, workers=2)
    joined = HostEvent(unix=made.now, host="h2", event="joined", text="host h2 has joined")
    made.take(Entry(unix=made.now, host_events=[joined]))
    made.train(0, 1, 2, batches=3)
    made.tell(2, Goodbye, reason="exit", dropped=7, errors=1)
    made.train(0, 1, batches=3)
    made.greet(0, pid=200)  # the launcher starts a rank again
    tell_settings(made, 0, workers=3)
    made.train(0, 1, batches=400)

    again = made.read_again()
    assert sorted(again.ranks) == [0, 1, 2]
    for rank, track in made.fold.ranks.items():
        assert known(again.ranks[rank]) == known(track), f"rank {rank}"
        assert again.ranks[rank].heard_late_s == pytest.approx(0.25, abs=1e-3)
    assert again.ranks[0].hello.pid == 200
    assert [len(again.ranks[rank].log) for rank in (0, 1)] == [401 * STEPS, 447 * STEPS]
    assert (again.attempt, again.attempts, again.strangers) == (2, 1, 0)
    assert {name: link.state for name, link in again.links.items()} == {"h2": "joined"}
    assert again.links["h2"].joins == 1


def test_who_has_read_all_segments_learns_nothing_twice(tmp_path: Path) -> None:
    made = Recorded(tmp_path)
    made.greet(0, pid=100)
    tell_settings(made, 0, workers=1)
    made.train(0, batches=80)
    made.writer.close()
    entries = list(read_recording(tmp_path))
    assert any(entry.repeated for entry in entries)
    assert not any(entry.after_hole for entry in entries)
    whole, without = RunFold(), RunFold()
    for entry in entries:
        whole.apply(entry)
        if not entry.repeated:
            without.apply(entry)
    assert known(whole.ranks[0]) == known(without.ranks[0]) == known(made.fold.ranks[0])
    assert list(whole.ranks[0].log.raw) == list(without.ranks[0].log.raw)
    assert (whole.attempts, whole.ranks[0].lost_frames) == (0, 0)


def test_frames_that_the_disk_refused_were_not_lost() -> None:
    fold = RunFold()
    fold.apply(Entry(unix=NOW, message=hello()))
    fold.apply(Entry(unix=NOW, message=batch(0, 5, 1)))
    fold.apply(Entry(unix=NOW, message=batch(25, 5, 6), gap=4))
    fold.apply(Entry(unix=NOW, message=batch(30, 5, 7)))
    assert fold.ranks[0].lost_frames == 0
    fold.apply(Entry(unix=NOW, message=batch(40, 5, 9)))
    assert fold.ranks[0].lost_frames == 1
