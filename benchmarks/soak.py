"""A long run on the CPU demo with a window every minute and dashboards that come and go: does anything grow?

    python -m benchmarks.soak RESULT.json [--minutes 60] [--window-every 60] [--nice 0] [-- COMMAND...]

Every ten seconds the training, the keeper and the hub are looked at from outside, in /proc. Real dashboards
in terminals of their own are opened one after the other; of each three one is left by `q`, one killed, and
one stopped for as long as it is there. Step times are those of the recording, windows left out. The
first and the last ten minutes are held against each other (of a shorter run, its first and last third).
"""

import argparse
import itertools
import json
import os
import platform
import pty
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.bootstrap import median_interval
from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import ProfileCommand, StopCommand
from perftui.ipc.errors import PerftuiError
from perftui.ipc.messages import UNUSUAL_FLAGS, Hello, StepBatch
from perftui.ipc.places import RunPlaces
from perftui.ipc.recording import read_recording
from perftui.ipc.run_files import RunDescription, read_record
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import exit_of, launch, wait_for_exit

DEMO = [sys.executable, str(Path(__file__).parents[1] / "demos" / "starved.py"), "--epochs", "1000000"]
_LOOK_EVERY_S = 10.0
_END_S = 600.0
_WARM_S = 60.0
_DASHBOARD_EVERY_S, _DASHBOARD_STAYS_S = 40.0, 25.0
_ANSWER_S = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")
_FIGURES = ("rss_mib", "descriptors", "threads", "cpu_s")


@dataclass
class Looks:
    """What was seen of each part, by name and time since the start."""

    began: float = field(default_factory=time.monotonic)
    parts: dict[str, list[dict[str, float]]] = field(default_factory=dict[str, list[dict[str, float]]])
    disk: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Time and MiB of the run's folders."""
    pids: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    @property
    def now_s(self) -> float:
        return time.monotonic() - self.began

    def take(self, places: RunPlaces, pids: dict[str, int]) -> None:
        """Look once."""
        for name, pid in pids.items():
            seen = process_figures(pid)
            if seen is not None:
                self.pids.setdefault(name, set()).add(pid)
                self.parts.setdefault(name, []).append({"at_s": self.now_s, **seen})
        self.disk.append((self.now_s, sum(map(folder_mib, (places.state, places.runtime)))))


def process_figures(pid: int) -> dict[str, float] | None:
    """Return memory, descriptors, threads and CPU time of a process; None where it has ended."""
    folder = Path(f"/proc/{pid}")
    try:
        pages = int((folder / "statm").read_text().split()[1])
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        return {
            "rss_mib": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
            "descriptors": len(list((folder / "fd").iterdir())),
            "threads": int(fields[17]),
            "cpu_s": (int(fields[11]) + int(fields[12])) / _TICKS,
        }
    except OSError:
        return None


def folder_mib(folder: Path) -> float:
    """Return the size of the files below a folder."""
    return sum(map(_size, folder.rglob("*"))) / 2**20


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # removed meanwhile
        return 0


class Visitors:
    """Dashboards, one after the other, in a thread of its own."""

    def __init__(self, run_id: str) -> None:
        self.opened = 0
        self.bytes_drawn = 0
        self._run_id = run_id
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._visit, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _visit(self) -> None:
        while not self._over.wait(_DASHBOARD_EVERY_S - _DASHBOARD_STAYS_S):
            self._one(("leaves", "is killed", "is stopped")[self.opened % 3])
            self.opened += 1

    def _one(self, way: str) -> None:
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execv(sys.executable, [sys.executable, "-m", "perftui.tui", self._run_id])
        drain = threading.Thread(target=self._drain, args=(terminal,))
        drain.start()
        self._over.wait(_DASHBOARD_STAYS_S / 5)
        if way == "is stopped":
            os.kill(pid, signal.SIGSTOP)
        self._over.wait(_DASHBOARD_STAYS_S * 4 / 5)
        if way == "leaves":
            os.write(terminal, b"q")
            time.sleep(2.0)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        drain.join()
        os.close(terminal)

    def _drain(self, terminal: int) -> None:
        try:
            while drawn := os.read(terminal, 65536):
                self.bytes_drawn += len(drawn)
        except OSError:
            return


def windows_until(places: RunPlaces, looks: Looks, minutes: float, every_s: float) -> list[str]:
    """Look every ten seconds and open a window every minute until the time is over; return their states."""
    states: list[str] = []
    pending: threading.Thread | None = None
    next_window = every_s
    while looks.now_s < 60 * minutes and exit_of(places) is None:
        looks.take(places, pids_of(places))
        if looks.now_s >= next_window and (pending is None or not pending.is_alive()):
            next_window += every_s
            pending = threading.Thread(target=lambda: states.append(window(places)))
            pending.start()
        time.sleep(_LOOK_EVERY_S)
    if pending is not None:
        pending.join()
    return states


def window(places: RunPlaces) -> str:
    """Open one window and return its state, or why there was none."""
    link = DashboardLink(places.dashboard_socket)
    try:
        done = link.ask(ProfileCommand(command_id=new_command_id(), steps=3), _ANSWER_S)
    except PerftuiError as error:
        return str(error)
    else:
        return done.profile.state if done.profile else done.result
    finally:
        link.close()


def pids_of(places: RunPlaces) -> dict[str, int]:
    """Return the parts of a run."""
    description = read_record(places.description, RunDescription)
    if description is None or description.keeper_pid is None or description.training_pid is None:
        return {}
    found = {"keeper": description.keeper_pid, "training": description.training_pid}
    link = DashboardLink(places.dashboard_socket)
    try:
        found["hub"] = link.snapshot(5.0).view.header.hub_pid
    except PerftuiError:
        pass
    finally:
        link.close()
    return found


def steps_of(places: RunPlaces) -> list[tuple[float, float]]:
    """Return the time since the first step (s) and the length (ms) of each usual step of the recording."""
    found: list[tuple[int, float]] = []
    for entry in read_recording(places.recording):
        if isinstance(entry.message, StepBatch):
            batch = entry.message
            found += [
                (end_ns, wall_ns / 1e6)
                for end_ns, wall_ns, flags in zip(batch.end_ns, batch.wall_ns, batch.flags, strict=True)
                if not flags & UNUSUAL_FLAGS
            ]
    return [((end_ns - found[0][0]) / 1e9, wall_ms) for end_ns, wall_ms in found]


def losses(places: RunPlaces) -> dict[str, int]:
    """Return how many frames and steps were lost, and how often a rank said hello.

    Where the recording has let go of its middle, a part begins with what stood then: nothing is lost there.
    """
    seq, lost, dropped, hellos = -1, 0, 0, 0
    for entry in read_recording(places.recording):
        if entry.repeated:
            seq = -1
            continue
        if entry.message is None:
            continue
        lost += max(0, entry.message.seq - seq - 1) if seq >= 0 else 0
        seq = entry.message.seq
        hellos += isinstance(entry.message, Hello)
        dropped = entry.message.dropped if isinstance(entry.message, StepBatch) else dropped
    return {"frames_lost": lost, "steps_dropped": dropped, "hellos": hellos}


def ends(series: Sequence[tuple[float, float]], end_s: float) -> tuple[list[float], list[float]]:
    """Return the values of the first and of the last so many seconds; warm-up left out."""
    last = series[-1][0]
    first = [value for at, value in series if _WARM_S <= at < _WARM_S + end_s]
    return first, [value for at, value in series if at > last - end_s]


def compared(series: Sequence[tuple[float, float]], end_s: float) -> dict[str, float]:
    first, last = ends(series, end_s)
    return {
        "first": round(fmean(first), 3),
        "last": round(fmean(last), 3),
        "peak": round(max(value for _, value in series), 3),
    }


def part_figures(seen: list[dict[str, float]], end_s: float) -> dict[str, Any]:
    figures: dict[str, Any] = {
        name: compared([(each["at_s"], each[name]) for each in seen], end_s) for name in _FIGURES[:3]
    }
    rates = [
        (after["at_s"], 100 * (after["cpu_s"] - before["cpu_s"]) / (after["at_s"] - before["at_s"]))
        for before, after in itertools.pairwise(seen)
        if after["cpu_s"] >= before["cpu_s"]
    ]
    return {**figures, "cpu_percent_of_a_core": compared(rates, end_s)}


def step_figures(steps: list[tuple[float, float]], end_s: float) -> dict[str, Any]:
    first, last = ends(steps, end_s)
    return {
        "steps": len(steps),
        **{
            name: {
                "median_ms": round(median(part), 3),
                "interval_ms": [
                    round(each, 3) for each in median_interval(part[:: max(1, len(part) // 1000)])
                ],
                "mean_ms": round(fmean(part), 3),
            }
            for name, part in (("first", first), ("last", last))
        },
    }


def main() -> None:
    """Run and write the result."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("result", type=Path)
    words.add_argument("--minutes", type=float, default=60.0)
    words.add_argument("--window-every", type=float, default=60.0, metavar="S")
    words.add_argument("--nice", type=int, default=0)
    words.add_argument("command", nargs="*", default=DEMO)
    asked = words.parse_args()
    os.nice(asked.nice)
    end_s = min(_END_S, 60 * asked.minutes / 3)
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
        os.environ |= {"XDG_STATE_HOME": f"{folder}/state", "PERFTUI_RUNTIME_DIR": f"{folder}/run"}
        spec = LaunchSpec(command=asked.command, cwd=Path(folder), stdio="pty", die_with=True)
        places, looks = launch(spec), Looks()
        visitors = Visitors(places.run_id)
        states = windows_until(places, looks, asked.minutes, asked.window_every)
        visitors.close()
        link = DashboardLink(places.dashboard_socket)
        link.ask(StopCommand(command_id=new_command_id()), _ANSWER_S)
        link.close()
        record = wait_for_exit(places, 120.0)
        steps, lost = steps_of(places), losses(places)
    result = {
        "what": __doc__.splitlines()[0] if __doc__ else "",
        "command": " ".join(["python -m benchmarks.soak RESULT.json", *sys.argv[2:]]),
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), "torch": version("torch")},
        "minutes": asked.minutes,
        "ends_of_s": end_s,
        "outcome": record.outcome if record else None,
        "hub_restarts": record.hub_restarts if record else None,
        "windows": {state: states.count(state) for state in sorted(set(states))},
        "dashboards": {"opened": visitors.opened, "drawn_mb": round(visitors.bytes_drawn / 1e6, 1)},
        "parts": {name: part_figures(seen, end_s) for name, seen in looks.parts.items()},
        "pids_of_each_part": {name: len(pids) for name, pids in looks.pids.items()},
        "disk_mib": compared(looks.disk, end_s),
        "step_time": step_figures(steps, end_s),
        **lost,
    }
    asked.result.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1), flush=True)


if __name__ == "__main__":
    main()
