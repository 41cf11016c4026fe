"""The keeper: codes, output, hub, survival; with real processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from perftui.ipc.places import RunPlaces, run_places
from perftui.ipc.run_files import ExitRecord, RunDescription, read_record
from perftui.trainer.launch.console import ConsoleLog
from perftui.trainer.launch.family import send_signal
from perftui.trainer.launch.start import wait_for_exit
from perftui.trainer.telemetry.processes import is_alive, start_ticks, tagged_pids

Start = Callable[..., RunPlaces]
Ended = Callable[[RunPlaces], ExitRecord]
Script = Callable[[str], list[str]]
Until = Callable[..., None]


@pytest.mark.parametrize(
    ("text", "code", "outcome"),
    [
        ("", 0, "finished"),
        ("raise SystemExit(7)", 7, "died_at_start"),
        ("import os; os.kill(os.getpid(), 9)", -9, "died_at_start"),
        ("print('torch.OutOfMemoryError: CUDA out of memory.'); raise SystemExit(1)", 1, "oom_gpu"),
    ],
)
def test_records_how_it_ended(
    start: Start, ended: Ended, script: Script, text: str, code: int, outcome: str
) -> None:
    record = ended(start(script(text)))
    assert (record.exit_code, record.outcome, record.stopped_by) == (code, outcome, None)
    assert record.survivors == []


def test_a_failure_after_the_first_step_is_no_failure_to_start(
    start: Start, ended: Ended, script: Script
) -> None:
    text = "import os; open(os.environ['PERFTUI_RUN_STATE'] + '/stepped', 'w'); raise SystemExit(3)"
    assert ended(start(script(text))).outcome == "failed"


def test_keeps_the_last_lines(start: Start, ended: Ended, script: Script) -> None:
    text = "print('step 1\\rstep 2'); print('\\x1b[31mred\\x1b[0m'); raise ValueError('no such layer')"
    lines = ended(start(script(text), stdio="pty")).last_lines
    assert lines[:2] == ["step 2", "red"]
    assert lines[-1] == "ValueError: no such layer"


def test_a_pty_is_a_terminal_and_leaves_newlines_alone(start: Start, ended: Ended, script: Script) -> None:
    text = (
        "import os, sys; print(sys.stdout.isatty(), sys.stderr.isatty(), os.get_terminal_size().columns)\n"
        "print(repr(sys.stdin.read()))"
    )
    places = start(script(text), stdio="pty")
    assert ended(places).exit_code == 0
    assert places.console.read_bytes() == b"True True 120\n''\n"


def test_the_log_is_bounded(start: Start, ended: Ended, script: Script, home: Path) -> None:
    log = ConsoleLog(home / "console.log", 64 * 1024)
    for number in range(2000):
        log.write(b"%07d%s\n" % (number, b"." * 92))
    log.close()
    sizes = [path.stat().st_size for path in home.glob("console.log*")]
    assert len(sizes) == 2
    assert sum(sizes) <= 64 * 1024
    assert (home / "console.log").read_bytes().splitlines()[-1].startswith(b"0001999")


def test_a_command_that_cannot_be_executed(start: Start, ended: Ended, home: Path) -> None:
    broken = home / "tool"
    broken.write_bytes(b"\x7fnot a program")
    broken.chmod(0o755)
    record = ended(start([str(broken)]))
    assert (record.exit_code, record.outcome) == (126, "died_at_start")
    assert "tool" in record.last_lines[0]


def test_the_training_gets_its_environment(start: Start, ended: Ended, script: Script) -> None:
    text = (
        "import os\nfor name in ('PERFTUI_RUN_ID', 'PERFTUI_RUN_STATE', 'PERFTUI_RUN_RUNTIME',\n"
        " 'PERFTUI_TRIAL', 'WANDB_MODE', 'PYTHONUNBUFFERED'):\n    print(os.environ[name])\n"
        "print(os.environ['PYTHONPATH'].split(':')[0])"
    )
    places = start(script(text), trial=True)
    assert ended(places).exit_code == 0
    lines = places.console.read_text().splitlines()
    assert lines[:6] == [places.run_id, str(places.state), str(places.runtime), "1", "offline", "1"]
    assert lines[6].endswith("trainer/launch/inject")


def hub_pids(places: RunPlaces) -> list[int]:
    path = places.state / "hub.pids"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def has_hubs(places: RunPlaces, count: int) -> bool:
    return len(hub_pids(places)) == count


def test_a_killed_hub_comes_back_and_the_training_goes_on(
    start: Start, ended: Ended, script: Script, stub_hub: Path, home: Path, until: Until
) -> None:
    text = f"import os, time\nwhile not os.path.exists({str(home / 'go')!r}): time.sleep(.02)\nprint('done')"
    places = start(script(text), hub=[sys.executable, str(stub_hub)])
    for seen in (1, 2, 3):
        until(partial(has_hubs, places, seen), f"hub number {seen}")
        if seen < 3:
            os.kill(hub_pids(places)[-1], signal.SIGKILL)
    (home / "go").touch()
    record = ended(places)
    assert (record.exit_code, record.hub_restarts) == (0, 2)
    assert places.console.read_text() == "done\n"


def test_a_hub_that_cannot_start_harms_nothing(start: Start, ended: Ended, script: Script) -> None:
    record = ended(start(script("import time; time.sleep(1); print('fine')"), hub=["/nonexistent/hub"]))
    assert (record.exit_code, record.last_lines) == (0, ["fine"])


LAUNCHER = """
import sys, time
from pathlib import Path
from perftui.trainer.launch.spec import LaunchSpec
from perftui.trainer.launch.start import launch
places = launch(LaunchSpec(sys.argv[2:], Path.cwd(), stdio="log", die_with=sys.argv[1] == "die"), hub=[])
print(places.run_id, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("die_with", [True, False])
def test_a_trial_ends_with_its_launcher_and_a_run_does_not(
    script: Script, home: Path, ended: Ended, until: Until, *, die_with: bool
) -> None:
    go = home / "go"
    command = script(f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(.02)")
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, "die" if die_with else "live", *command], stdout=subprocess.PIPE
    )
    assert launcher.stdout is not None
    places = run_places(launcher.stdout.readline().decode().strip())
    launcher.kill()
    launcher.wait()
    launcher.stdout.close()
    if die_with:
        record = ended(places)
        assert (record.stopped_by, record.exit_code) == ("parent", -signal.SIGTERM)
        return
    assert wait_for_exit(places, 1.0) is None
    go.touch()
    assert ended(places).outcome == "finished"


LEAVES_SOMETHING = """
import subprocess, sys
from pathlib import Path
left = subprocess.Popen(["sleep", "600"], start_new_session=True)
Path("left.pid").write_text(str(left.pid))
"""


@pytest.mark.parametrize("trial", [False, True])
def test_what_a_finished_command_leaves_running_stays_but_for_a_trial(
    start: Start, ended: Ended, script: Script, home: Path, until: Until, trial: bool
) -> None:
    places = start(script(LEAVES_SOMETHING), die_with=trial)
    record = ended(places)
    assert (record.exit_code, record.survivors) == (0, [])
    pid = int((home / "left.pid").read_text())
    ticks = start_ticks(pid)
    assert (ticks is None) == trial
    if ticks is not None:
        send_signal(pid, ticks, signal.SIGKILL)
        until(lambda: not tagged_pids(places.run_id), "what was left is gone")


def test_a_trial_ends_with_its_keeper(start: Start, script: Script, until: Until) -> None:
    places = start(script("import time; time.sleep(600)"), die_with=True)
    description = read_record(places.description, RunDescription)
    assert description is not None
    assert description.keeper_pid is not None
    assert description.keeper_start_ticks is not None
    assert description.training_pid is not None
    until(lambda: bool(tagged_pids(places.run_id)), "the training is there")
    assert send_signal(description.keeper_pid, description.keeper_start_ticks, signal.SIGKILL)
    until(lambda: not tagged_pids(places.run_id), "the training is gone")
    lost = wait_for_exit(places, 10)
    assert lost is not None
    assert lost.outcome == "lost"


def test_the_keeper_is_a_session_of_its_own_without_the_tag(
    start: Start, ended: Ended, script: Script, home: Path
) -> None:
    go = home / "go"
    places = start(script(f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(.02)"))
    description = read_record(places.description, RunDescription)
    assert description is not None
    assert description.keeper_pid is not None
    assert os.getsid(description.keeper_pid) not in (os.getsid(0), description.training_pid)
    assert description.keeper_pid not in tagged_pids(places.run_id)
    assert is_alive(description.keeper_pid, start_ticks(description.keeper_pid) or 0)
    go.touch()
    ended(places)


WITHOUT_A_READER = """
import os, sys
from pathlib import Path
from perftui.trainer.launch.keeper import Keeper
from perftui.trainer.launch.keeper_files import read_order
state = Path(sys.argv[1])
reader, ready = os.pipe()
os.close(reader)
Keeper(read_order(state), state).run(ready)
"""


def test_a_keeper_whose_starter_was_killed_keeps_the_training(
    start: Start, ended: Ended, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ctrl-C or the system may kill it, between the training's start and the word that it has started."""

    def start_keeper(places: RunPlaces, _spec: object, environment: dict[str, str]) -> None:
        command = [sys.executable, "-c", WITHOUT_A_READER, str(places.state)]
        subprocess.run(command, env=environment, start_new_session=True, check=True)

    monkeypatch.setattr("perftui.trainer.launch.start._start_keeper", start_keeper)
    places = start(script("print('whole'); raise SystemExit(5)"))
    record = ended(places)
    assert (record.exit_code, record.last_lines) == (5, ["whole"])
    assert not (places.state / "keeper.log").exists()


def test_the_keeper_needs_the_standard_library_alone() -> None:
    code = (
        "import sys; import perftui.trainer.launch.keeper\n"
        "roots = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(roots & {'zmq', 'msgspec', 'psutil', 'numpy', 'torch', 'textual', 'socket'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


PRINTS = """
import sys, time
from pathlib import Path
for number in range(300):
    print(number, "x" * 500, flush=True)
    print("to stderr", file=sys.stderr, flush=True)
    time.sleep(0.01)
Path("ended").write_text("whole")
"""


@pytest.mark.parametrize("stdio", ["pty", "pipes", "log"])
def test_a_run_outlives_its_keeper_and_its_output_is_read_on(
    start: Start, script: Script, home: Path, until: Until, stdio: str
) -> None:
    """Nobody else would read it: at its next line the training would end by a broken pipe."""
    places = start(script(PRINTS), stdio=stdio, hub=None)
    until((places.runtime / "dash.sock").exists, "its hub is there")
    until(lambda: places.console.stat().st_size > 0, "it prints")
    description = read_record(places.description, RunDescription)
    assert description is not None
    assert description.keeper_pid is not None
    assert description.keeper_start_ticks is not None
    assert send_signal(description.keeper_pid, description.keeper_start_ticks, signal.SIGKILL)
    until((home / "ended").exists, "it goes on to its end")
    # not "\n299 x": the other stream writes its line and the end of it by two calls
    until(lambda: b"299 x" in places.console.read_bytes(), "all of its output is kept")
    assert (home / "ended").read_text() == "whole"
    lost = wait_for_exit(places, 10)
    assert lost is not None
    assert lost.outcome == "lost"
