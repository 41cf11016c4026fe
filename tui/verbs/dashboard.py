"""`perftui [RUN]`, and whatever else opens a screen: whether there may be one, and on which run."""

import argparse
import gc
import os
import shlex
from functools import partial
from typing import TYPE_CHECKING

from perftui.ipc.errors import NoSuchRun, Refused, UsageError
from perftui.tui.verbs.output import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from perftui.ipc.dashboard_link import LeadAddress
    from perftui.ipc.run_lines import RunLine
    from perftui.trainer.launch.spec import LaunchSpec


def attach(parsed: argparse.Namespace) -> int:
    """Open a dashboard on the run that a word names, or on the only or chosen one."""
    if parsed.at is not None or parsed.key is not None:
        return _attach_over_tcp(parsed)
    word, rest = (parsed.runs[0], parsed.runs[1:]) if parsed.runs else (None, [])
    from perftui.trainer.launch.runs import find_run, list_runs, only_run, watchable

    if rest:
        words = shlex.join(parsed.runs)
        raise UsageError(
            f"{word}: no such verb, and a dashboard takes one run; to train: perftui run -- {words}"
        )
    lines = list_runs()
    if no_dashboard() is not None:
        return _runs_and_hint(lines, word)
    if word is not None:
        return _open(find_run(word, lines), parsed)
    live = watchable(lines)
    if len(live) < 2:
        return _open(live[0] if live else only_run(lines), parsed)
    from perftui.tui.config.place import load_config
    from perftui.tui.picker import pick_run

    check_size()
    chosen = pick_run(live, config=load_config(parsed.config), ascii_only=parsed.ascii)
    return 0 if chosen is None else _open(find_run(chosen, lines), parsed)


def _attach_over_tcp(parsed: argparse.Namespace) -> int:
    """Open a dashboard on the run that another host leads."""
    from perftui.ipc.dashboard_link import LeadAddress
    from perftui.ipc.host_addresses import HostPort, host_port
    from perftui.ipc.link_keys import read_key

    if parsed.at is None or parsed.key is None or parsed.runs:
        raise UsageError("a run that another host leads: perftui --at HOST[:PORT] --key FILE")
    reason = no_dashboard()
    if reason is not None:
        raise Refused(reason)
    key, at = read_key(parsed.key), host_port(parsed.at)
    role = key.role or "command"
    lead = LeadAddress(HostPort(at.host, at.port or key.port), key.peer_keys(role))
    parsed.read_only = parsed.read_only or role == "watch"
    check_size()
    return load_dashboard(parsed, lead)(str(at))


def _open(line: "RunLine", parsed: argparse.Namespace) -> int:
    """Open a dashboard on a live run, or on the recording of one that has ended."""
    check_size()
    from perftui.trainer.launch.runs import has_hub

    live = line.running or has_hub(line.run_id)
    if line.elsewhere and not live:
        raise Refused(
            f"{line.run_id} is {line.state_words}: give this command there; what it has recorded so far: "
            f"perftui replay {line.run_id}"
        )
    run_dashboard = load_dashboard(parsed)
    if live:
        return run_dashboard(line.run_id)
    from perftui.ipc.places import run_places
    from perftui.trainer.launch.replay import replayed

    with replayed(run_places(line.run_id).state, at_end=True) as run_id:
        return run_dashboard(run_id, recorded=True)


def _runs_and_hint(lines: "list[RunLine]", word: str | None) -> int:
    from perftui.tui.verbs.live_runs import write_runs

    if word is not None:
        from perftui.trainer.launch.runs import find_run

        run_id = find_run(word, lines).run_id
        raise Refused(f"{no_dashboard()}; a snapshot without one: perftui status {run_id}")
    if not lines:
        raise NoSuchRun("no run of yours on this host; start one: perftui run -- python train.py")
    write_runs(lines)
    say(f"{no_dashboard()}; try: perftui status RUN, perftui run -- python train.py")
    return 0


def run_with_dashboard(spec: "LaunchSpec", json_target: str | None, parsed: argparse.Namespace) -> int:
    """Start a training, show it, and return 0 when the dashboard is left."""
    from perftui.trainer.launch.foreground import after_dashboard, started_for_dashboard

    check_size()
    if parsed.config is not None:  # one that cannot be read is refused before anything is started
        from perftui.tui.config.place import load_config

        load_config(parsed.config)
    with started_for_dashboard(spec, json_target) as places:
        run_dashboard = load_dashboard(parsed)
        code = run_dashboard(places.run_id)
    return code or after_dashboard(places, json_target)


def load_dashboard(parsed: argparse.Namespace, lead: "LeadAddress | None" = None) -> "Callable[..., int]":
    """Load the dashboard, as `--ascii`, `--read-only` and the configuration want it.

    Args:
        parsed: the command line.
        lead: of a run that another host leads; None: the run is here.

    Raises:
        UsageError: `--config` names a file that cannot be read.
    """
    gc.disable()  # hundreds of modules are loaded, and none of them is garbage
    from perftui.tui.app import run_dashboard
    from perftui.tui.config.place import load_config

    gc.freeze()
    gc.enable()
    read_only = getattr(parsed, "read_only", False)  # `replay` has no such flag: its keys change nothing
    config = load_config(parsed.config)
    return partial(run_dashboard, config=config, read_only=read_only, ascii_only=parsed.ascii, lead=lead)


def no_dashboard() -> str | None:
    """Say why no dashboard can open here; None when one can."""
    from perftui.trainer.launch.terminal_check import no_dashboard_because

    return no_dashboard_because(dict(os.environ))


def check_size() -> None:
    """Refuse a terminal that is too small."""
    from perftui.trainer.launch.terminal_check import too_small

    reason = too_small()
    if reason is not None:
        raise Refused(reason)
