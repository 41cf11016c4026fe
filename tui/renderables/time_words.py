"""From when a picture is, as the header says it: how long ago and at which step, or how a replay goes."""

from perftui.ipc.view import Header
from perftui.tui import format as fmt
from perftui.tui.state import DashboardState


def frozen_words(shown: DashboardState, live: DashboardState) -> str:
    """Say how old a picture is that stands still, and what has become of the run meanwhile."""
    if shown.header is None or live.header is None:
        return "frozen"
    ago_s = max(0.0, live.header.elapsed_s - shown.header.elapsed_s)
    words = [f"{fmt.age(ago_s)} ago"]
    if shown.header.step is not None:
        words.append(f"step {shown.header.step:,}")
    if live.header.state != shown.header.state:
        words.append(f"now {live.header.state}")
    if not live.connected and not live.ended:
        words.append(f"hub silent for {fmt.age(live.silent_s)}")
    return ", ".join(words)


def replay_words(header: Header) -> str:
    """Say how fast a recording is played, and how long it is; "" of a live run."""
    if not header.replay:
        return ""
    pace = "paused" if header.replay_paused else f"{fmt.plain(header.replay_speed or 1.0)}×"
    whole = f" of {fmt.duration(header.replay_total_s)}" if header.replay_total_s is not None else ""
    return f"REPLAY {pace}{whole}"
