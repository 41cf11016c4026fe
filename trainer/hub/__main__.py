"""`python -m perftui.trainer.hub RUN_ID`: the hub of one run; or of a replay with `--replay FOLDER`."""

import argparse
import sys
import traceback
from pathlib import Path

from perftui.ipc.errors import LaunchFailed, PerftuiError
from perftui.ipc.owned_files import opener
from perftui.ipc.places import RunPlaces, make_run_places
from perftui.ipc.run_files import RunDescription, read_record
from perftui.trainer.hub.live_run import LiveRun
from perftui.trainer.hub.replay_run import serve_replay
from perftui.trainer.hub.service import HubService, Stopped

_STARTS = "hub.starts"


def main() -> int:
    """Serve until the run is over and nobody looks any more."""
    parser = argparse.ArgumentParser(prog="perftui-hub")
    parser.add_argument("run_id")
    parser.add_argument("--replay", type=Path, help="serve this run's folder or recording instead")
    parser.add_argument("--at-end", action="store_true", help="show the replay's last picture")
    parser.add_argument("--speed", type=float, default=1.0)
    parser.add_argument("--child-of", type=int, help="the replay ends with this process, its parent")
    arguments = parser.parse_args()
    places = make_run_places(arguments.run_id)
    try:
        if arguments.replay is not None:
            serve_replay(
                places,
                arguments.replay,
                at_end=arguments.at_end,
                speed=arguments.speed,
                child_of=arguments.child_of,
            )
        else:
            _serve_live(places)
    except PerftuiError as error:
        print(f"perftui hub: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


def _serve_live(places: RunPlaces) -> None:
    stopped = Stopped()
    description = read_record(places.description, RunDescription)
    if description is None:
        raise LaunchFailed(f"{places.description}: no such run, or it cannot be read")
    run = LiveRun(places, description, _count_start(places))
    HubService(places, run).serve(stopped)


def _count_start(places: RunPlaces) -> int:
    """Return how many hubs this run had before this one."""
    try:
        with open(places.state / _STARTS, "ab", opener=opener) as stream:
            before = stream.tell()
            stream.write(b".")
    except OSError:
        return 0
    return before


if __name__ == "__main__":
    try:
        code = main()
    except Exception:  # noqa: BLE001 - outermost border of the hub: say why, the keeper starts another
        traceback.print_exc()
        code = 70
    sys.exit(code)
