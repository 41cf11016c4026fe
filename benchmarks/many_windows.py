"""Many profiling windows in one training on the CPU: does memory grow, and do the figures stay the same?

    python benchmarks/many_windows.py RESULT.json [--windows 200] [--preset light]

One training under a keeper and a hub; windows of three steps, one after the other, by the same message that
a dashboard sends. After each the resident memory of the training and of the hub is read. The first and the
last twenty windows are held against each other.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median, pstdev
from typing import Any

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import ProfileCommand, StopCommand
from perftui.ipc.errors import ConnectionLost
from perftui.ipc.places import RunPlaces
from perftui.ipc.view import RunView
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import launch, wait_for_exit

LOOP = """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
torch.set_num_threads(1)
layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
loader = DataLoader(TensorDataset(torch.randn(8192, 16, 64)), batch_size=8)
while True:
    for (batch,) in loader:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
"""
_ENDS = 20
_SETTLED = 20
"""Steps before the first window."""
_ANSWER_S = 120.0


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def wait_for_steps(link: DashboardLink, steps: int) -> RunView:
    """Wait until the rank has done so many steps."""
    deadline = time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline:
        try:
            view = link.snapshot(2.0).view
        except ConnectionLost:
            continue
        if view.ranks and view.ranks[0].steps >= steps:
            return view
        time.sleep(0.1)
    raise SystemExit("the training did not begin")


def one_window(link: DashboardLink, preset: Any) -> dict[str, Any]:
    """Open a window and return its figures."""
    view = link.snapshot(5.0).view
    began = time.monotonic()
    done = link.ask(ProfileCommand(command_id=new_command_id(), steps=3, preset=preset), _ANSWER_S)
    took_s = time.monotonic() - began
    profile = done.profile
    if profile is None or not done.ok:
        raise SystemExit(f"a window failed: {done.result}")
    (rank,) = profile.ranks
    return {
        "state": rank.state,
        "result_s": took_s,
        "steps_to_first": profile.start_step - view.ranks[0].steps,
        "calls": {row.name: row.count for row in rank.operators},
        "events": rank.events,
        "window_ms": rank.window_ms,
        "cost_ms": rank.cost_ms,
        "training_mib": resident_mib(view.ranks[0].pid),
        "hub_mib": resident_mib(view.header.hub_pid),
    }


def series(places: RunPlaces, windows: int, preset: str) -> tuple[list[dict[str, Any]], RunView]:
    """Open all windows; return their figures and the last view."""
    link = DashboardLink(places.dashboard_socket)
    try:
        wait_for_steps(link, _SETTLED)
        found = [one_window(link, preset) for _ in range(windows)]
        view = wait_for_steps(link, link.snapshot(5.0).view.ranks[0].steps + 60)
        link.ask(StopCommand(command_id=new_command_id()), _ANSWER_S)
    finally:
        link.close()
    return found, view


def spread(values: list[float]) -> dict[str, float]:
    """Return the median and the standard deviation."""
    return {"median": median(values), "sd": pstdev(values)}


def compared(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the first and the last windows say, next to each other."""
    ends = min(_ENDS, len(found) // 2)
    parts: dict[str, Any] = {"first": found[:ends], "last": found[-ends:]}
    return {
        name: {
            "window_ms": spread([each["window_ms"] for each in part]),
            "stall_ms": spread([each["cost_ms"]["stall"] for each in part]),
            "stop_ms": spread([each["cost_ms"]["stop"] for each in part]),
            "window_over_three_steps": spread([each["over_steps"] for each in part if each["over_steps"]]),
            "events": sorted({each["events"] for each in part}),
            "training_mib": spread([each["training_mib"] for each in part]),
            "hub_mib": spread([each["hub_mib"] for each in part]),
            "result_s": spread([each["result_s"] for each in part]),
        }
        for name, part in parts.items()
    }


def calls_of(windows: list[dict[str, int]]) -> dict[str, Any]:
    """Return how many operators have the same calls wherever they are listed, and which have not."""
    names = {name for calls in windows for name in calls}
    counts = {name: sorted({calls[name] for calls in windows if name in calls}) for name in names}
    return {
        "same": sum(len(each) == 1 for each in counts.values()),
        "differ": {name: each for name, each in sorted(counts.items()) if len(each) > 1},
    }


def main() -> None:
    """Measure and write the result."""
    words = argparse.ArgumentParser()
    words.add_argument("result", type=Path)
    words.add_argument("--windows", type=int, default=200)
    words.add_argument("--preset", default="light")
    asked = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="mw-") as folder:
        os.environ |= {"XDG_STATE_HOME": f"{folder}/state", "PERFTUI_RUNTIME_DIR": f"{folder}/run"}
        script = Path(folder) / "train.py"
        script.write_text(LOOP)
        spec = LaunchSpec(command=[sys.executable, str(script)], cwd=Path(folder), stdio="log", die_with=True)
        places = launch(spec)
        found, view = series(places, asked.windows, asked.preset)
        record = wait_for_exit(places, 120.0)
    steps = [(rank.step_ms_before, rank.step_ms_after) for p in view.profiles for rank in p.ranks]
    pairs = [(before, after) for before, after in steps if before and after]
    for each, (before, _) in zip(found, steps, strict=False):
        each["over_steps"] = each["window_ms"] / (3 * before) if before else None
    memory = [each["training_mib"] for each in found]
    result = {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "torch": version("torch"),
        "command": f"python benchmarks/many_windows.py --windows {asked.windows} --preset {asked.preset}",
        "windows": len(found),
        "states": sorted({each["state"] for each in found}),
        "outcome": record.outcome if record else None,
        "training_growth_mib": memory[-1] - memory[0],
        "training_growth_after_tenth_mib": memory[-1] - memory[min(9, len(memory) - 1)],
        "training_mib": {str(number): memory[number] for number in range(0, len(memory), 20)},
        "hub_growth_mib": found[-1]["hub_mib"] - found[0]["hub_mib"],
        "steps_to_first_recorded": spread([each["steps_to_first"] for each in found]),
        "calls": calls_of([each["calls"] for each in found]),
        "step_ms_after_over_before": spread([after / before for before, after in pairs]) if pairs else None,
        **compared(found),
    }
    asked.result.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
