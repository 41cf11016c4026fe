"""Which processes belong to a run: those that carry its tag in their environment.

The environment of a process lies in its own memory, and reading it waits while the process itself waits for
memory (on a hanging network file system, say). So each process is asked as rarely as can be: on its first
two looks, since between `fork` and `exec` it still shows its parent's, and then once a minute, since pids
are given away again.
"""

import os
import time
from pathlib import Path

from perftui.ipc.run_variables import RUN_ID
from perftui.trainer.telemetry.pace import Pace
from perftui.trainer.telemetry.proc_files import read_line, read_whole
from perftui.trainer.telemetry.process_table import parse_stat

_SETTLED_LOOKS = 2
_SCAN_S = 5.0
_SCAN_SHARE = 0.005
_ALL_ANEW_S = 60.0


class RunMembers:
    """Finds the run's processes, some seconds late; children of known ones are found by others sooner."""

    def __init__(self, run_id: str, root: Path = Path("/")) -> None:
        self._tag = f"{RUN_ID}={run_id}".encode()
        self._proc = str(root / "proc")
        self._pace = Pace(_SCAN_S, _SCAN_SHARE)
        self._all_anew = Pace(_ALL_ANEW_S, 1.0)
        self._looks: dict[int, int] = {}
        self._members: dict[int, int] = {}

    def read(self, now_s: float) -> dict[int, int]:
        """Return pid to start ticks of the run's processes as of the last scan, made anew when it is due."""
        if self._pace.due(now_s):
            began = time.thread_time()
            if self._all_anew.due(now_s):
                self._looks.clear()
            self._members = self._scan()
            self._pace.took(time.thread_time() - began)  # thousands of processes: scans become rarer
        return self._members

    def _scan(self) -> dict[int, int]:
        looks, self._looks = self._looks, {}
        found: dict[int, int] = {}
        for pid in self._all_pids():
            settled = looks.get(pid, 0) >= _SETTLED_LOOKS
            if pid in self._members if settled else self._is_tagged(pid):
                reading = parse_stat(pid, read_line(f"{self._proc}/{pid}/stat"))
                if reading is not None and (not settled or reading.start_ticks == self._members[pid]):
                    found[pid] = reading.start_ticks
            self._looks[pid] = looks.get(pid, 0) + (not settled)
        return found

    def _all_pids(self) -> list[int]:
        try:
            with os.scandir(self._proc) as entries:
                return [int(entry.name) for entry in entries if entry.name.isdigit()]
        except OSError:
            return []

    def _is_tagged(self, pid: int) -> bool:
        folder = f"{self._proc}/{pid}"
        try:
            own = os.stat(folder).st_uid == os.geteuid()  # noqa: PTH116 the paths here are strings
        except OSError:
            return False
        return own and self._tag in read_whole(f"{folder}/environ").split(b"\0")
