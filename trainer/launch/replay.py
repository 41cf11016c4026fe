"""Opens a recorded run: a hub that serves the recording as if it were live, for as long as one looks."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import SummaryQuery
from perftui.ipc.errors import ConnectionLost, RecordingError
from perftui.ipc.owned_files import opener
from perftui.ipc.places import make_run_places, run_places
from perftui.trainer.launch.outcome import last_lines
from perftui.trainer.launch.run_names import new_run_id
from perftui.trainer.launch.start import hub_command

_START_S = 120.0
"""A recording of many ranks takes a while to be read; a hub that has ended is noticed at once."""
_END_S = 5.0
_ANSWER_S = 10.0


@contextlib.contextmanager
def replayed(source: Path, *, at_end: bool = False, speed: float = 1.0) -> Iterator[str]:
    """Serve a run's folder, or a recording, and yield the run id under which dashboards find it.

    Raises:
        RecordingError: there is no readable recording.
    """
    if not source.exists():
        raise RecordingError(f"{source}: no such file or folder")
    places = make_run_places(new_run_id("replay"))
    options = ["--replay", str(source.resolve()), "--speed", str(speed), "--child-of", str(os.getpid())]
    options += ["--at-end"] if at_end else []
    log = places.state / "hub.log"
    with open(log, "wb", opener=opener) as stream:
        hub = subprocess.Popen(
            [*hub_command(places.run_id), *options],
            cwd=places.state,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    try:
        _wait_until_served(hub, places.dashboard_socket, log)
        yield places.run_id
    finally:
        hub.terminate()
        try:
            hub.wait(_END_S)
        except subprocess.TimeoutExpired:
            hub.kill()
            hub.wait()
        for folder in (places.runtime, places.state):
            shutil.rmtree(folder, ignore_errors=True)


def summary_of_recording(source: Path) -> dict[str, Any]:
    """Return the summary JSON of a recording, as of its end.

    Raises:
        RecordingError: there is no readable recording.
    """
    with replayed(source, at_end=True) as run_id:
        link = DashboardLink(run_places(run_id).dashboard_socket)
        try:
            done = link.ask(SummaryQuery(command_id=new_command_id()), _ANSWER_S)
        finally:
            link.close()
    summary: dict[str, Any] = msgspec.json.decode(done.result)
    return summary


def _wait_until_served(hub: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    socket = Path(address.removeprefix("ipc://"))
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if hub.poll() is not None:
            lines = last_lines(log.read_text(errors="replace"), 1)
            raise RecordingError(
                (lines[0] if lines else "the replay ended at once").removeprefix("perftui hub: ")
            )
        if socket.exists():
            return
        time.sleep(0.02)
    raise ConnectionLost(f"the replay did not begin within {_START_S:.0f} s; see {log}")
