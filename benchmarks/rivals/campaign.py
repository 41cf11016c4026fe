"""Runs rounds: in each, every arm once, in an order that differs from round to round."""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.rivals.arms import Arm
from benchmarks.rivals.cells import Group
from benchmarks.rivals.family import reap_orphans
from benchmarks.rivals.launch import Running
from benchmarks.rivals.records import (
    Settings,
    Turn,
    evidence_of,
    job_of,
    line_of,
    record_of,
    start,
    turns_of,
)
from benchmarks.rivals.tool import Job

Say = Callable[[str], None]
Keep = Callable[[list[dict[str, Any]]], None]
_ORPHANS_S = 30.0
_POLL_S = 0.05


def play_round(
    settings: Settings, group: Group, arms: Sequence[Arm], number: int, say: Say
) -> list[dict[str, Any]]:
    """Start every arm once, one after another; each begins when nothing of the one before is left.

    Records have `lingered_s` on top: for how long processes outlived the command.
    """
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="rv-") as name, ExitStack() as at_end:
        at_end.callback(reap_orphans, _ORPHANS_S)
        for turn in turns_of(group, arms, number):
            job = job_of(settings, turn, Path(name), None)
            with start(settings, turn, job) as running:
                ended = running.wait()
            lingered_s, cpu_s, in_time = reap_orphans(_ORPHANS_S)
            record = record_of(turn, ended, evidence_of(turn, job, left_processes=not in_time))
            records.append({**record, "cpu_s": ended.cpu_s + cpu_s, "lingered_s": lingered_s})
            say(line_of(records[-1]))
    return records


class Pipeline:
    """Rounds without a pause: processes get ready while another measures, which only one does at a time.

    For a machine on which starting takes longer than measuring. What depends on starting and ending alone
    (`first_step_s`, `after_last_step_s`, `cpu_s`) is left out of the records.
    """

    def __init__(self, settings: Settings, group: Group, arms: Sequence[Arm], say: Say, keep: Keep) -> None:
        self._settings = settings
        self._group = group
        self._arms = arms
        self._say = say
        self._keep = keep
        self._under_way: list[tuple[Turn, Job, Running]] = []
        self._records: dict[int, list[dict[str, Any]]] = {}

    def play(self, numbers: Sequence[int], deadline: float) -> bool:
        """Play rounds until all are done or the next would end after the deadline; return whether all were.

        The deadline is on the monotonic clock.
        """
        longest_s = 0.0
        with tempfile.TemporaryDirectory(prefix="rv-") as name:
            try:
                for number in numbers:
                    began = time.monotonic()
                    if began + longest_s > deadline:
                        return False
                    for turn in turns_of(self._group, self._arms, number):
                        self._launch(turn, Path(name))
                    longest_s = max(longest_s, time.monotonic() - began)
            finally:
                self._end()
        return True

    def _end(self) -> None:
        """Take in what is under way; should that be broken off, leave nothing behind."""
        with ExitStack() as stack:
            stack.callback(reap_orphans, _ORPHANS_S)
            for _, _, running in self._under_way:
                stack.push(running)
            if sys.exc_info()[0] is None:
                self._collect(wait=True)

    def _launch(self, turn: Turn, folder: Path) -> None:
        """Start the next process once few enough are waiting for their turn."""
        job = job_of(self._settings, turn, folder, folder / "gate")
        self._under_way.append((turn, job, start(self._settings, turn, job)))
        while sum(running.waits() for _, _, running in self._under_way) >= self._settings.ahead:
            self._collect()
            time.sleep(_POLL_S)

    def _collect(self, *, wait: bool = False) -> None:
        """Take in what has ended, or everything."""
        still: list[tuple[Turn, Job, Running]] = []
        for turn, job, running in self._under_way:
            if not wait and not running.has_ended():
                still.append((turn, job, running))
                continue
            ended = running.wait()
            record = record_of(turn, ended, evidence_of(turn, job, left_processes=False))
            unknown = {"first_step_s": None, "after_last_step_s": None, "cpu_s": None}
            self._take(turn, {**record, **unknown})
            shutil.rmtree(job.folder, ignore_errors=True)
        self._under_way = still

    def _take(self, turn: Turn, record: dict[str, Any]) -> None:
        self._say(line_of(record))
        of_round = self._records.setdefault(turn.number, [])
        of_round.append(record)
        if len(of_round) == len(self._arms):
            self._keep(self._records.pop(turn.number))
