"""A read-only dashboard: no command leaves it, whatever the app above asks; questions do."""

from pathlib import Path

from textual.message import Message

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import (
    CancelCommand,
    CancelProfileCommand,
    Command,
    ProfileCommand,
    Question,
    RelaunchCommand,
    SeekCommand,
    StepsQuery,
    StopCommand,
)
from perftui.tui.link import HubLink
from perftui.tui.messages import CommandAnswered

CHANGING: list[Command | Question] = [
    StopCommand(command_id="a"),
    ProfileCommand(command_id="b"),
    CancelProfileCommand(command_id="c"),
    RelaunchCommand(command_id="d", set={"loader.num_workers": 2}),
    CancelCommand(command_id="e"),
]


def _told(folder: Path, commands: list[Command | Question], *, read_only: bool) -> list[str]:
    posted: list[Message] = []
    link, hub = HubLink("r-1", posted.append, read_only=read_only), DashboardLink(f"ipc://{folder}/s")
    try:
        for command in commands:
            link.send(command)
        link._pass_commands(hub)  # pyright: ignore[reportPrivateUsage]
    finally:
        hub.close()
    return [message.answer.reason or "" for message in posted if isinstance(message, CommandAnswered)]


def test_every_command_that_changes_anything_is_declined(tmp_path: Path) -> None:
    told = _told(tmp_path, CHANGING, read_only=True)
    assert told == ["read-only: this dashboard changes nothing"] * len(CHANGING)


def test_what_changes_nothing_goes_its_way(tmp_path: Path) -> None:
    asked: list[Command | Question] = [SeekCommand(command_id="f"), StepsQuery(command_id="g", rank=0)]
    assert _told(tmp_path, asked, read_only=True) == ["the run's hub does not answer"] * 2
    assert _told(tmp_path, CHANGING, read_only=False) == ["the run's hub does not answer"] * len(CHANGING)
