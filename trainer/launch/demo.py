"""The built-in demonstrations: which script each is, and the whole loop without a screen.

The loop is the one that the dashboard offers by keys: watch, name the cause, change one thing, measure it.
"""

import importlib.util
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from perftui.ipc.dashboard_link import DashboardLink
from perftui.ipc.errors import ConnectionLost, Refused, UsageError
from perftui.ipc.findings import Finding
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import ExitRecord
from perftui.ipc.settings import format_value
from perftui.ipc.view import RankView, RunView
from perftui.trainer.launch.environment import rooms_folder
from perftui.trainer.launch.environment_line import environment_line
from perftui.trainer.launch.spec import LaunchSpec, Stdio
from perftui.trainer.launch.start import check_launch, exit_of, launch, request_stop, wait_for_exit
from perftui.trainer.tuning.follow_relaunch import ProgressLines
from perftui.trainer.tuning.plan import Caps, RelaunchPlan
from perftui.trainer.tuning.relaunch import relaunch
from perftui.trainer.tuning.subject import trainers_of

_WATCH_S = 90.0
_STEADY_STEPS = 40
"""So many steps before the first judgement is believed."""
_SNAPSHOT_S = 5.0
_STOP_S = 60.0
_CAPS = Caps(steps=150, seconds=35.0)
"""Four launches under these, with their starts and stops, stay under four minutes."""
_NEEDED = ("torch", "torchvision")


@dataclass(frozen=True)
class Demo:
    """One demonstration."""

    script: str
    ranks: int
    what: str


DEMOS = {
    "starved": Demo("starved.py", 1, "a small CNN that waits for JPEG files decoded in its own process"),
    "ddp": Demo("starved_ddp.py", 2, "two ranks, one of them with a slower loader"),
    "healthy": Demo("healthy.py", 1, "a training in which nothing is worth changing"),
}


def demo_spec(name: str, stdio: Stdio) -> LaunchSpec:
    """Return the launch of a demonstration, in this program's own Python.

    Raises:
        UsageError: there is no demonstration of that name.
        Refused: torch or torchvision is missing; the message has the pip command.
    """
    if name not in DEMOS:
        raise UsageError(f"no demo {name!r}; there are: {', '.join(DEMOS)}")
    missing = [module for module in _NEEDED if importlib.util.find_spec(module) is None]
    if missing:
        raise Refused(
            f"the demos need {' and '.join(missing)}; "
            f"install with: {sys.executable} -m pip install 'perftui[demos]'"
        )
    demo = DEMOS[name]
    script = str(rooms_folder() / "demos" / demo.script)
    launcher = [sys.executable]
    if demo.ranks > 1:
        launcher += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={demo.ranks}"]
    return LaunchSpec([*launcher, script], Path.cwd(), name=f"demo-{name}", stdio=stdio)


def run_demo_headless(name: str) -> int:
    """Run the whole loop and print it; return 0 when it came to an answer, also an honest refusal."""
    spec = demo_spec(name, "log")
    check = check_launch(spec)
    _say(f"demo {name}: {DEMOS[name].what} ({environment_line(check)})")
    places = launch(spec, check)
    try:
        view = _watch(places)
    except BaseException:
        request_stop(places, "user", grace_s=5.0)
        raise
    _say_baseline(view)
    finding = _say_findings(view)
    record = _stop(places, view)
    if finding is None or finding.remedy is None:
        return 0
    if record.outcome != "stopped":
        raise ConnectionLost(
            f"the demo ended by itself ({record.outcome}): {' '.join(record.last_lines[-1:])}"
        )
    return _measure(places, finding)


def _watch(places: RunPlaces) -> RunView:
    """Wait until there is something to say: enough steps, and a finding that has lasted."""
    deadline = time.monotonic() + _WATCH_S
    view: RunView | None = None
    said = 0
    link = DashboardLink(places.dashboard_socket)
    try:
        while time.monotonic() < deadline:
            record = exit_of(places)
            if record is not None:
                raise ConnectionLost(f"the demo ended: {' '.join(record.last_lines[-1:])}")
            view = _picture(link) or view
            steps = max((rank.steps for rank in view.ranks), default=0) if view else 0
            if steps >= said + 20:
                said = steps
                _say(f"  {steps} steps")
            if view is not None and steps >= _STEADY_STEPS and view.findings:
                return view
            time.sleep(0.5)
    finally:
        link.close()
    if view is None or not view.ranks:
        raise ConnectionLost(f"no step was seen within {_WATCH_S:.0f} s; see {places.console}")
    return view


def _picture(link: DashboardLink) -> RunView | None:
    try:
        return link.snapshot(_SNAPSHOT_S).view
    except ConnectionLost:
        return None


def _say_baseline(view: RunView) -> None:
    for rank in view.ranks:
        _say(f"baseline, rank {rank.rank}: {_figures(rank)}")


def _figures(rank: RankView) -> str:
    parts = [f"{rank.steps} steps on {rank.device}"]
    if rank.step_ms is not None:
        parts.append(f"{rank.step_ms.p50:.1f} ms a step")
    if rank.samples_per_s is not None:
        parts.append(f"{rank.samples_per_s:.1f} samples/s")
    if rank.shares.loader_wait is not None:
        parts.append(f"{rank.shares.loader_wait:.0%} of it waiting for the loader")
    return ", ".join(parts)


def _say_findings(view: RunView) -> Finding | None:
    """Print what was found; return the first finding with a remedy that can be set."""
    for finding in view.findings:
        _say(f"{finding.severity}: {finding.code}: {finding.sentence}")
        for each in finding.evidence:
            _say(f"  {each.name}: {each.value:.3g} {each.unit} (over {each.window_steps} steps)")
    chosen = next((each for each in view.findings if each.remedy is not None and each.remedy.set), None)
    if chosen is None or chosen.remedy is None:
        _say("nothing to set: this training is left as it is")
        return None
    change = ", ".join(f"{key}={format_value(value)}" for key, value in chosen.remedy.set.items())
    bound = f", at most {chosen.remedy.bound:.1f}x as fast" if chosen.remedy.bound else ""
    _say(f"the one change: {change}{bound}")
    return chosen


def _stop(places: RunPlaces, view: RunView) -> ExitRecord:
    request_stop(places, "user", trainers_of([rank.pid for rank in view.ranks]), grace_s=5.0)
    record = wait_for_exit(places, _STOP_S)
    if record is None:
        raise ConnectionLost(f"{places.run_id} did not end within {_STOP_S:.0f} s")
    return record


def _measure(places: RunPlaces, finding: Finding) -> int:
    if finding.remedy is None:
        return 0
    _say("measuring it by trials (they do not touch your files)")
    plan = RelaunchPlan(
        run_id=places.run_id,
        set=finding.remedy.set,
        go_live=False,
        finding=finding.code,
        bound=finding.remedy.bound,
        expected=finding.remedy.expected,
        caps=_CAPS,
    )
    view = relaunch(plan, ProgressLines(_write).take, lambda: False)
    if view.verdict is None:
        _say(view.message or "no verdict")
        return 1
    _say(view.verdict.sentence)
    return 0 if view.state == "done" else 1


def _say(text: str) -> None:
    _write(text + "\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
