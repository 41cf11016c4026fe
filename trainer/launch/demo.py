"""A demonstration without a screen: baseline, cause with evidence, the one change, the verdict; in minutes.

What the keys of the dashboard do, in one go. The training is ended before its trials, so that nothing of the
demonstration stays behind.
"""

import dataclasses
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.dashboard_messages import Update
from perftui.ipc.errors import ConnectionLost, LaunchFailed
from perftui.ipc.findings import Finding
from perftui.ipc.places import RunPlaces
from perftui.ipc.view import RankView, RelaunchView
from perftui.trainer.launch.demo_stage import DEMOS, demo_spec
from perftui.trainer.launch.demo_story import Story, rank_line
from perftui.trainer.launch.environment_line import environment_line
from perftui.trainer.launch.start import (
    check_launch,
    console_lines,
    exit_of,
    launch,
    request_stop,
    wait_for_exit,
)
from perftui.trainer.tuning.follow_relaunch import ProgressLines
from perftui.trainer.tuning.plan import Caps, RelaunchPlan
from perftui.trainer.tuning.relaunch import relaunch
from perftui.trainer.tuning.relaunch_verb import RelaunchDocument
from perftui.trainer.tuning.subject import trainers_of

_FIRST_STEP_WITHIN_S = 120.0
"""The pictures are made before it."""
_CAUSE_WITHIN_S = 60.0
_SURE_AFTER_S = 9.0
"""A cause that has led for so long, over a growing window, is the one that is told."""
_NEWS_EVERY_S = 5.0
_SILENT_S = 30.0
_PULL_S = 0.5
_STOPPED_WITHIN_S = 40.0
_GRACE_S = 5.0
_STEPS_WANTED = 90
"""Of a trial: its warm-up, and enough steady steps to judge by."""
_TRIAL_S = (25.0, 45.0)
"""Least and most seconds of a trial: four of them, with their starts and stops, stay under four minutes."""


def run_demo(name: str | None, *, as_json: bool = False) -> int:
    """Run a demonstration and tell it line by line; 0 when it came to a verdict, or found nothing to change.

    Args:
        name: of the demonstration; None: the first.
        as_json: the relaunch as one JSON document on stdout, and the story on stderr.

    Raises:
        UsageError, Refused, LaunchFailed, CommandNotFound: it cannot be started.
    """
    name = name or next(iter(DEMOS))
    spec = dataclasses.replace(demo_spec(name, "log"), die_with=True)
    stream = sys.stderr if as_json else sys.stdout
    story = Story(lambda text: (stream.write(text), stream.flush()))
    story.say(f"demo {name}: {DEMOS[name].what}")
    story.say(f"$ {' '.join(spec.command)}")
    check = check_launch(spec)
    story.say(environment_line(check))
    places = launch(spec, check)
    ranks: list[RankView] = []
    try:
        ranks, finding = _Watch(places, story, DEMOS[name].ranks).until_sure()
    finally:
        request_stop(places, "user", trainers_of([rank.pid for rank in ranks]), grace_s=_GRACE_S)
        wait_for_exit(places, _STOPPED_WITHIN_S)
    story.baseline(ranks)
    story.cause(finding)
    if finding is not None:
        story.change(finding)
    if finding is None or finding.remedy is None or not finding.remedy.set:
        return 0
    view = _measure(places, finding, _caps(ranks), story)
    story.verdict(view.verdict, view.message)
    if as_json:
        document = RelaunchDocument(run_id=places.run_id, relaunch=view)
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    return 0 if view.state == "done" else 1


class _Watch:
    """Looks at a run as a dashboard does, until one cause has led for a while."""

    def __init__(self, places: RunPlaces, story: Story, ranks: int) -> None:
        self._places, self._story, self._expected = places, story, ranks
        self._ranks: dict[int, RankView] = {}
        self._leading: Finding | None = None
        self._leads_since = self._news_at = time.monotonic()

    def until_sure(self) -> tuple[list[RankView], Finding | None]:
        """Return the ranks and the leading finding; None when none was named in time.

        Raises:
            LaunchFailed: the training ended by itself.
            ConnectionLost: the hub never answered.
        """
        link = DashboardLink(self._places.dashboard_socket)
        heard = time.monotonic()
        deadline, stepping = heard + _FIRST_STEP_WITHIN_S, False
        try:
            while time.monotonic() < deadline and not self._sure():
                self._check_alive(heard)
                link.pull()
                message = link.receive(int(_PULL_S * 1000))
                if isinstance(message, Update):
                    heard = time.monotonic()
                    self._take(message)
                    time.sleep(_PULL_S)
                if not stepping and any(rank.steps for rank in self._ranks.values()):
                    deadline, stepping = time.monotonic() + _CAUSE_WITHIN_S, True
        finally:
            link.close()
        return [self._ranks[rank] for rank in sorted(self._ranks)], self._leading

    def _take(self, update: Update) -> None:
        if update.snapshot:
            self._ranks.clear()
        self._ranks.update({rank.rank: rank for rank in update.view.ranks})
        leading = update.view.findings[0] if update.view.findings else None
        if (leading and leading.code) != (self._leading and self._leading.code):
            self._leads_since = time.monotonic()
        self._leading = leading
        if time.monotonic() - self._news_at >= _NEWS_EVERY_S:
            self._news_at = time.monotonic()
            self._tell_news()

    def _tell_news(self) -> None:
        for rank in sorted(self._ranks):
            self._story.say(f"training  {rank_line(self._ranks[rank])}")
        if not self._ranks:
            last = console_lines(self._places, 1)
            self._story.say(f"starting  {last[0] if last else ''}")

    def _sure(self) -> bool:
        """A host too busy to judge may calm down: that is waited for."""
        if self._leading is None or self._leading.code.startswith("self."):
            return False
        complete = len(self._ranks) >= self._expected
        return complete and time.monotonic() - self._leads_since >= _SURE_AFTER_S

    def _check_alive(self, heard: float) -> None:
        record = exit_of(self._places)
        if record is not None:
            last = "\n".join(console_lines(self._places, 5))
            raise LaunchFailed(f"the demo's training ended with code {record.exit_code}:\n{last}")
        if time.monotonic() - heard > _SILENT_S:
            raise ConnectionLost(f"the hub of {self._places.run_id} does not answer")


def _caps(ranks: list[RankView]) -> Caps:
    """Give trials the time that this host needs for enough steps, and no more than a demonstration has."""
    step_s = max((rank.step_ms.mean / 1e3 for rank in ranks if rank.step_ms is not None), default=0.0)
    seconds = min(max(_STEPS_WANTED * step_s, _TRIAL_S[0]), _TRIAL_S[1])
    return Caps(steps=200, seconds=seconds, start_seconds=60.0, silent_seconds=30.0)


def _measure(places: RunPlaces, finding: Finding, caps: Caps, story: Story) -> RelaunchView:
    """Measure the remedy by trials, in this process; the run itself has ended."""
    remedy = finding.remedy
    plan = RelaunchPlan(
        run_id=places.run_id,
        set=dict(remedy.set) if remedy is not None else {},
        go_live=False,
        finding=finding.code,
        bound=remedy.bound if remedy is not None else None,
        expected=remedy.expected if remedy is not None else None,
        caps=caps,
    )
    lines = ProgressLines(lambda text: story.say(f"trial     {text.strip()}"))

    def tell(view: RelaunchView) -> None:
        if view.state not in ("done", "failed"):  # the end is told in the story's own words
            lines.take(view)

    with _interruptible() as given_up:
        return relaunch(plan, tell, given_up.is_set)


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Let SIGINT and SIGTERM break the trials off in good order."""
    given_up = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: given_up.set())
    try:
        yield given_up
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
