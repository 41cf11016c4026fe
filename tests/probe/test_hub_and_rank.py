"""What hub and rank say to each other while a training runs: windows, a hub's restart, a hub that is away."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from perftui.ipc.codec import decode_from_rank
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.messages import (
    FLAG_PROFILED,
    ArmWindow,
    AskHello,
    Beat,
    Effective,
    Facts,
    FromRank,
    Goodbye,
    Hello,
    StepBatch,
    WindowReport,
)
from perftui.ipc.run_files import RunDescription
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.slow]

UNTIL_TOLD = """
import pathlib, time, torch
from torch import nn
torch.set_num_threads(1)
model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
count = 0
deadline = time.monotonic() + 60
while not pathlib.Path("stop").exists() and time.monotonic() < deadline:
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    count += 1
    time.sleep(PAUSE)
print(f"{count}\\n", end="")  # one write: two ranks print at once
"""


def test_a_window_is_recorded_and_its_steps_are_marked(hub: "Hub") -> None:
    order = ArmWindow(
        window_id="w1",
        start_step=60,
        warm_steps=1,
        steps=3,
        preset="light",
        directory=str(hub.places.profiles),
    )
    elsewhere = msgspec.structs.replace(order, window_id="w0", directory=str(hub.work))
    hub.to_send[0] = [elsewhere, order]
    script = UNTIL_TOLD.replace("PAUSE", "0.02").replace("60\n", "4\n")
    script += "\ntime.sleep(2.5)\n"
    outcome = hub.train(script, KINETO_LOG_LEVEL="6")  # as the launcher sets it
    assert outcome.stderr == ""
    assert outcome.exit_code == 0
    reports = [report for report in outcome.of(WindowReport) if report.window_id == "w1"]
    declined = [report for report in outcome.of(WindowReport) if report.window_id == "w0"]
    assert [(report.state, report.reason) for report in declined] == [
        ("unsupported", f"{hub.work} is not the folder of this run")
    ]
    assert reports[-1].state == "done", reports
    assert reports[-1].path is not None
    assert (hub.places.profiles / Path(reports[-1].path).name).exists() or (
        hub.places.state / reports[-1].path
    ).exists()
    marked = [place for place, flags in enumerate(outcome.column("flags")) if flags & FLAG_PROFILED]
    assert len(marked) >= reports[-1].steps
    assert set(range(reports[-1].start_step, reports[-1].start_step + reports[-1].steps)) <= set(marked)
    assert outcome.steps() == int(outcome.stdout)
    *_, before, after = (n for n, each in enumerate(outcome.messages) if isinstance(each, StepBatch))
    asleep = outcome.messages[before + 1 : after]  # the last step is told at the end of the script
    assert [each for each in asleep if isinstance(each, Beat | Facts)], "it speaks all the same"
    assert all(beat.step <= outcome.steps() for beat in outcome.of(Beat))


def _read(
    sockets: HubSockets, seen: list[FromRank], until: type[FromRank], *, answer: AskHello | None = None
) -> None:
    deadline = time.monotonic() + 60
    while not any(isinstance(message, until) for message in seen):
        assert time.monotonic() < deadline
        for arrival in sockets.arrivals(100):
            seen.append(decode_from_rank(arrival.frame))
            if answer is not None:
                sockets.to_rank(arrival.peer, answer)


def test_a_hub_that_comes_late_goes_and_comes_back(hub: "Hub") -> None:
    hub.close()
    script = hub.work / "train.py"
    script.write_text(UNTIL_TOLD.replace("PAUSE", "0.005"))
    process = subprocess.Popen(
        [sys.executable, str(script)], cwd=hub.work, env=hub.environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        late: list[FromRank] = []
        first = HubSockets(hub.places)
        _read(first, late, StepBatch)
        first.close()
        again: list[FromRank] = []
        second = HubSockets(hub.places)
        _read(second, again, StepBatch)
        again.clear()
        _read(second, again, Hello, answer=AskHello())
        _read(second, again, Effective)
        (hub.work / "stop").touch()
        _read(second, again, Goodbye)
        assert process.wait(30) == 0
        second.close()
    finally:
        process.kill()
        process.communicate()
        hub.sockets = HubSockets(hub.places)
    assert isinstance(late[0], Hello)
    assert sum(isinstance(message, Hello) for message in again) >= 1


HUB = """
import sys
from pathlib import Path
import msgspec
from perftui.ipc.codec import decode_from_rank
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.messages import Goodbye, StepBatch
from perftui.ipc.places import run_places

places = run_places(sys.argv[-1])
sockets = HubSockets(places)
steps = goodbyes = 0
while goodbyes < RANKS:
    for arrival in sockets.arrivals(1000):
        message = decode_from_rank(arrival.frame)
        goodbyes += isinstance(message, Goodbye)
        steps += len(message.end_ns) if isinstance(message, StepBatch) else 0
sockets.close()
Path(ANSWER).write_text(f"{places.run_id} {steps}")
"""


@pytest.mark.parametrize("way", ["armed shell, two ranks", "watch"])
def test_the_first_rank_starts_a_hub_of_its_own(hub: "Hub", way: str) -> None:
    ranks = 1 if way == "watch" else 2
    answer = hub.work / "answer"
    (hub.work / "hub.py").write_text(HUB.replace("ANSWER", repr(str(answer))).replace("RANKS", str(ranks)))
    interpreter = hub.work / "python"  # runs our small hub where `-m perftui.trainer.hub` is asked for
    interpreter.write_text(
        textwrap.dedent(f"""\
        #!/bin/sh
        [ "$1" = -m ] && exec {sys.executable} {hub.work}/hub.py "$@"
        exec {sys.executable} "$@"
        """)
    )
    interpreter.chmod(0o755)
    environment = hub.environment(PERFTUI_PYTHON=str(interpreter), PERFTUI_ARM="1")
    for name in ("PERFTUI_RUN_ID", "PERFTUI_RUN_STATE", "PERFTUI_RUN_RUNTIME"):
        del environment[name]
    environment |= {name: os.environ[name] for name in ("PERFTUI_RUNTIME_DIR", "XDG_STATE_HOME")}
    script = hub.work / "train.py"
    text = UNTIL_TOLD.replace("PAUSE", "0.02").replace("60\n", "3\n")
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        str(script),
    ]
    if way == "watch":
        del environment["PERFTUI_ARM"], environment["PYTHONPATH"]
        text = "from perftui.trainer import watch\nw = watch()\n" + text
        text = text.replace("    count += 1", "    w.step(samples=4)\n    count += 1")
        command = [sys.executable, str(script)]
    script.write_text(text)
    outcome = hub.run(command, environment)
    assert outcome.exit_code == 0
    assert outcome.messages == []
    wait_until(answer.exists, "the hub answers")
    run_id, steps = answer.read_text().split()
    assert int(steps) == sum(int(line) for line in outcome.stdout.split())
    description = msgspec.json.decode(
        (hub.places.state.parent / run_id / "run.json").read_bytes(), type=RunDescription
    )
    assert not description.owned
    assert description.cwd == str(hub.work)
