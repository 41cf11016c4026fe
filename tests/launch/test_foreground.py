"""`perftui run` without a terminal, as a script sees it: bytes, codes, signals, the summary."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perftui.ipc.places import run_places
from perftui.trainer.launch.runs import list_runs
from perftui.trainer.launch.start import wait_for_exit
from perftui.trainer.telemetry.processes import tagged_pids
from tests.launch.entry import ENTRY

Script = Callable[[str], list[str]]
Until = Callable[..., None]


def perftui(*words: str, **kwargs: object) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([*ENTRY, *words], capture_output=True, check=False, timeout=60, **kwargs)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("text", "code"),
    [("", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_the_code_is_the_trainings_own(script: Script, text: str, code: int) -> None:
    assert perftui("run", "--no-tui", "--", *script(text)).returncode == code


def test_what_stands_before_a_later_separator_is_the_commands_own(script: Script) -> None:
    command = script("import os, sys; print(os.nice(0), *sys.argv[1:])")
    nicer = str(min(19, os.nice(0) + 5))
    for words, said in (
        (["nice", "-n", "5", "--", *command], f"{nicer}"),
        ([*command, "--", "--lr", "3"], f"{os.nice(0)} -- --lr 3"),
        (["--", *command, "--", "--lr", "3"], f"{os.nice(0)} -- --lr 3"),
        (["--", "nice", "-n", "5", "--", *command, "a"], f"{nicer} a"),
    ):
        done = perftui("run", "--no-tui", *words)
        assert (done.returncode, done.stdout.decode()) == (0, f"{said}\n"), words


@pytest.mark.parametrize("closed", ["<&-", "<&- >&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_were_closed_before_keep_nothing_from_training(
    script: Script, home: Path, closed: str
) -> None:
    out = home / "seen"
    text = f"import os, sys; open({str(out)!r}, 'w').write(sys.stdin.read() + os.readlink('/proc/self/fd/0'))"
    words = ["sh", "-c", f'exec "$@" {closed}', "sh", *ENTRY, "run", "--", *script(text)]
    done = subprocess.run(words, capture_output=True, check=False, timeout=60)
    assert (done.returncode, out.read_text()) == (0, "/dev/null"), done.stderr


def test_output_is_byte_for_byte_that_of_a_plain_run(script: Script, home: Path) -> None:
    text = (
        "import random, sys\nrng = random.Random(0)\n"
        "block = bytes(rng.randrange(256) for _ in range(65521))\n"
        "for n in range(160):\n"
        "    sys.stdout.buffer.write(block)\n    if n % 16 == 0: sys.stderr.buffer.write(block)\n"
        "sys.stdout.buffer.write(b'no newline at the end')\n"
    )
    command = script(text)
    plain = subprocess.run(command, capture_output=True, check=True)
    ours = perftui("run", "--no-tui", "--", *command)
    assert len(plain.stdout) > 10_000_000
    assert ours.stdout == plain.stdout
    first, _, rest = ours.stderr.partition(b"\n")
    assert first.startswith(b"perftui: python ")
    assert rest.startswith(plain.stderr)
    assert rest.removeprefix(plain.stderr).startswith(b"perftui: ")


TAKES_TURNS = """
import os
for n in range(3000):
    os.write(1 + n % 2, b"%d\\n" % n)
"""


@pytest.mark.parametrize("kind", ["pipe", "file", "terminal"])
def test_where_both_streams_go_to_one_place_their_order_stays(script: Script, home: Path, kind: str) -> None:
    """As with `2>&1 | tee log`, `> log 2>&1`, or on a terminal."""
    command = script(TAKES_TURNS)
    plain = both_streams(kind, command, home)
    ours = both_streams(kind, [*ENTRY, "run", "--no-tui", "--", *command], home)
    said = [line for line in ours.splitlines() if line.startswith(b"perftui: ")]
    assert [line for line in ours.splitlines() if line not in said] == plain.splitlines()
    assert len(plain.splitlines()) == 3000
    assert ours.splitlines()[-1] == said[-1], "it ends when all is passed on"


def both_streams(kind: str, command: list[str], home: Path) -> bytes:
    """Return what a command writes where both of its streams go to one place."""
    if kind == "pipe":
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
        return done.stdout
    if kind == "file":
        with (home / "both").open("wb") as both:
            subprocess.run(command, stdout=both, stderr=subprocess.STDOUT, check=True)
        return (home / "both").read_bytes()
    master, slave = pty.openpty()
    with subprocess.Popen(command, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL) as process:
        os.close(slave)
        read = bytearray()
        with contextlib.suppress(OSError):  # how a terminal says that all others have closed it
            while piece := os.read(master, 65536):
                read += piece
    os.close(master)
    assert process.returncode == 0
    return bytes(read)


def test_stdin_and_open_files_are_handed_down(script: Script, home: Path) -> None:
    (home / "extra").write_text("from a file")
    with (home / "extra").open() as extra:
        number = extra.fileno()
        done = perftui(
            "run", "--no-tui", "--",
            *script(f"import os, sys; print(sys.stdin.read(), os.read({number}, 99).decode())"),
            input=b"from stdin", pass_fds=[number],
        )  # fmt: skip
    assert done.stdout == b"from stdin from a file\n"


def test_a_script_that_dies_at_once_says_why(script: Script) -> None:
    done = perftui("run", "--no-tui", "--", *script("raise RuntimeError('no data here')"))
    assert done.returncode == 1
    assert b"RuntimeError: no data here" in done.stderr
    assert b"died at start" in done.stderr.splitlines()[-1]


def test_the_summary_is_written_also_of_a_failure(script: Script, home: Path) -> None:
    out = home / "out.json"
    done = perftui("run", "--json", str(out), "--", *script("raise SystemExit(7)"))
    summary = json.loads(out.read_text())
    assert done.returncode == 7
    assert (summary["schema"], summary["exit_code"], summary["stopped_by"]) == (1, 7, None)
    assert summary["command"] == ["python", *summary["command"][1:]]


def test_the_summary_on_stdout_follows_the_output(script: Script) -> None:
    done = perftui("run", "--json", "-", "--set", "loader.num_workers=2", "--", *script("print('text')"))
    first, _, rest = done.stdout.partition(b"\n")
    assert first == b"text"
    assert json.loads(rest)["settings"] == {"loader.num_workers": 2}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["interrupt", "terminate"]
)
def test_signals_are_forwarded(script: Script, until: Until, number: signal.Signals, code: int) -> None:
    command = script(
        "import signal, time\nsignal.signal(2, signal.SIG_DFL)\nprint(1, flush=True)\ntime.sleep(600)"
    )
    process = subprocess.Popen(
        [*ENTRY, "run", "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"stopped by" in error


def test_the_training_survives_its_foreground(script: Script, home: Path, until: Until) -> None:
    go = home / "go"
    command = script(
        "import os, time\nprint(1, flush=True)\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(.02)\nprint(2)"
    )
    process = subprocess.Popen(
        [*ENTRY, "run", "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    (line,) = list_runs()
    assert line.running
    go.touch()
    record = wait_for_exit(run_places(line.run_id), 30)
    assert record is not None
    assert record.outcome == "finished"
    assert run_places(line.run_id).console.read_bytes() == b"1\n2\n"


def test_a_stalled_reader_stops_no_supervision(script: Script, until: Until) -> None:
    command = script("import sys\nwhile True: sys.stdout.write('x' * 10000 + '\\n')")
    process = subprocess.Popen(
        [*ENTRY, "run", "--", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline()  # and nothing more
    (line,) = list_runs()
    assert perftui("stop", line.run_id).returncode == 0
    assert tagged_pids(line.run_id) == {}
    process.stdout.read()
    assert process.wait(30) == 143
    process.stdout.close()


NOT_IN = "no process of the command imported torch with perftui's probe"
NO_STEP = "neither an optimizer of torch nor `watch().step()`"


@pytest.mark.parametrize(
    ("shell", "text", "said", "unsaid"),
    [
        ("PYTHONPATH=. python {}", "", NOT_IN, NO_STEP),
        ("python -I {}", "", NOT_IN, NO_STEP),
        ("python -E {}", "", NOT_IN, NO_STEP),
        ("env -u PYTHONPATH python {}", "", NOT_IN, NO_STEP),
        ("python {}", "", NOT_IN, NO_STEP),
        ("PYTHONPATH=.:$PYTHONPATH python {}", "import torch", NO_STEP, NOT_IN),
    ],
)
def test_a_run_without_a_step_says_whether_the_probe_got_in(
    script: Script, shell: str, text: str, said: str, unsaid: str
) -> None:
    path = script(text)[1]
    done = perftui("run", "--no-tui", "--", "bash", "-c", f"{shell.format(path)}; true")
    assert done.returncode == 0
    last = done.stderr.decode().splitlines()[-1]
    assert said in last
    assert unsaid not in last
    assert all(word in last for word in ("PYTHONPATH", "-I", "-E")) is (said == NOT_IN)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run"], 2, "no command"),
        (["run", "--", "no-such-program-here"], 127, "not found"),
        (["run", "--set", "loader.workers=2", "--", "python", "x.py"], 2, "unknown setting"),
        (["run", "--set", "loader.num_workers=many", "--", "python", "x.py"], 2, "whole number"),
        (["run", "--seconds", "-1", "--", "python", "x.py"], 2, "above 0"),
        (["fly"], 3, "no run 'fly'"),
        (["status"], 3, "perftui run"),
        (["stop", "nothing-like-that"], 3, "perftui ls"),
        (["ls", "--", "python"], 2, "takes no command"),
        (["--", "python", "x.py"], 2, "to train: perftui run -- python x.py"),
        (["some-run", "--", "python", "x.py"], 2, "takes no command"),
        (["--read-only", "--", "python", "x.py"], 2, "takes no command"),
        (["run", "--stepps", "3"], 2, "--help"),
        (["demo", "no-such-demo"], 2, "starved"),
        (["relaunch", "none", "--set", "loader.num_workers=2"], 3, "perftui ls"),
        (["profile", "--steps", "0"], 2, "above 0"),
        (["replay", "nowhere"], 1, "nowhere: no such file"),
    ],
)
def test_bad_input_is_one_clear_line(words: list[str], code: int, said: str) -> None:
    done = perftui(*words)
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, len(lines)) == (code, 1)
    assert lines[0].startswith("perftui: ")
    assert said in lines[0]


def test_without_a_terminal_the_runs_are_listed_with_a_hint(script: Script) -> None:
    assert perftui("run", "--name", "mine", "--", *script("")).returncode == 0
    done = perftui()
    assert done.returncode == 0
    assert b"mine-" in done.stdout
    assert b"perftui status" in done.stderr


def test_help_and_run_need_no_textual(script: Script) -> None:
    code = (
        "import sys; from perftui.tui.cli import main\n"
        f"assert main(['run', '--no-tui', '--', *{script('')!r}]) == 0\n"
        "main(['--help'])\n"
        "print(sorted({'textual', 'rich', 'torch', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
