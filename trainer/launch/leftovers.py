"""Clears away what hubs that were killed have left in the runtime directory: the sockets of ended runs."""

import shutil
import time

from perftui.ipc.hub_lock import hub_lock_is_held
from perftui.ipc.places import RUN_ID, run_places, runtime_root

_SETTLED_S = 120.0
"""An end this long ago has been summarised; before, a hub may just be about to take its lock."""


def clear_leftovers() -> None:
    """Remove the runtime folders of runs that ended a while ago and whose hub is gone."""
    now = time.time()
    for folder in runtime_root().iterdir():
        if not RUN_ID.fullmatch(folder.name) or not folder.is_dir():
            continue
        places = run_places(folder.name)
        try:
            ended = places.exit_record.stat().st_mtime
        except OSError:
            continue
        if now - ended > _SETTLED_S and not hub_lock_is_held(places.hub_lock):
            shutil.rmtree(folder, ignore_errors=True)
