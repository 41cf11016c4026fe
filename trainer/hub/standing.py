"""How a run stands, as messages: said again at the head of each segment of the recording.

A segment in the middle may go, and with it the hello of a rank that came late, or was started again.
"""

from collections.abc import Iterator
from typing import Literal

from perftui.ipc.facts import RankFacts
from perftui.ipc.host_links import HostEvent
from perftui.ipc.messages import Effective, Facts, Goodbye, Sender
from perftui.ipc.recording import Entry
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.rank_track import RankTrack


def standing(fold: RunFold, now: float) -> Iterator[Entry]:
    """Yield what a reader must know who lacks all before `now` (unix seconds), the most needed first."""
    for track in fold.ordered:
        yield Entry(unix=now, message=track.hello)
    for link in fold.links.values():
        event: Literal["joined", "lost", "left"] = "joined" if link.state == "lead" else link.state
        yield Entry(unix=now, host_events=[HostEvent(unix=now, host=link.host, event=event, text="")])
    for track in fold.ordered:
        yield Entry(unix=now, message=_effective(track))
        if track.ended:
            yield Entry(unix=now, message=_goodbye(track))
    for track in fold.ordered:
        if track.facts != RankFacts():
            yield Entry(unix=now, message=_facts(track, now))


def _sender(track: RankTrack) -> Sender:
    hello = track.hello
    return {
        "run_id": hello.run_id,
        "host": hello.host,
        "rank": hello.rank,
        "seq": max(0, track.next_seq - 1),
    }


def _effective(track: RankTrack) -> Effective:
    return Effective(
        **_sender(track),
        settings=track.settings,
        failed=track.settings_failed,
        loader=track.loader,
        device=track.device,
        gpu_uuid=track.gpu_uuid,
        read_ahead=track.read_ahead,
    )


def _goodbye(track: RankTrack) -> Goodbye:
    return Goodbye(**_sender(track), reason="", dropped=track.dropped, errors=track.probe_errors)


def _facts(track: RankTrack, now: float) -> Facts:
    at_ns = int((now - track.heard_late_s) * 1e9) - track.hello.wall_offset_ns
    return Facts(**_sender(track), at_ns=at_ns, facts=track.facts)
