"""Which Python a command runs in, what it is asked, and what is said when something is missing."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from perftui.ipc.errors import CommandNotFound, Refused, UsageError
from perftui.trainer.launch.command_line import find_interpreter, require_script
from perftui.trainer.launch.environment_line import environment_line
from perftui.trainer.launch.interpreter import InterpreterCheck, check_interpreter

BIN = Path(sys.executable).parent
PATH = f"{BIN}:/usr/bin:/bin"


@pytest.fixture
def bare(home: Path) -> Path:
    """A Python with neither torch nor msgspec, as programs that are installed apart run in."""
    venv.create(home / "bare", with_pip=False, symlinks=True)
    return home / "bare" / "bin" / "python"


@pytest.mark.parametrize(
    "command",
    [
        ["python", "train.py"],
        ["python", "-m", "package.train", "-E"],
        [sys.executable, "-u", "train.py"],
        ["env", "OMP_NUM_THREADS=1", "-u", "X", "python", "train.py"],
        ["nice", "-n", "5", "python", "train.py"],
        ["timeout", "--kill-after", "5", "-s", "INT", "1h", "python", "train.py"],
        ["timeout", "--preserve-status", "60", "nice", "python", "-u", "train.py"],
        ["taskset", "-c", "0,1", "python", "train.py"],
        ["taskset", "0x3", "python", "train.py"],
        ["setsid", "-w", "python", "train.py"],
        ["stdbuf", "-oL", "-e", "0", "python", "train.py"],
        ["ionice", "-c", "3", "python", "train.py"],
        ["chrt", "-b", "0", "python", "train.py"],
        ["time", "-p", "python", "train.py"],
        ["flock", "-n", "-w", "3", "/tmp/lock", "python", "train.py"],
        ["numactl", "--cpunodebind=0", "--membind", "0", "--", "python", "train.py"],
        ["env", "-S", "A=1 python -u", "train.py"],
        ["torchrun", "--nproc-per-node=2", "train.py"],
    ],
)
def test_finds_the_commands_own_python(command: list[str], home: Path) -> None:
    tool = home / "tools" / command[0]
    if not (BIN / command[0]).exists():  # a wrapper, which need not be installed here
        console_script(tool, "/bin/sh")
    found = find_interpreter(command, home, f"{tool.parent}:{PATH}")
    assert found is not None
    assert Path(found.path).parent == BIN
    assert found.blinded_by is None


@pytest.mark.parametrize(("flag", "by"), [("-I", "-I"), ("-uE", "-E"), ("-S", "-S"), ("-Wignore", None)])
def test_flags_that_keep_the_probe_out(flag: str, by: str | None, home: Path) -> None:
    found = find_interpreter(["python", flag, "train.py"], home, PATH)
    assert found is not None
    assert found.blinded_by == by
    line = environment_line(InterpreterCheck(path=found.path, python=(3, 11, 7), blinded_by=by))
    assert ("keeps perftui out" in line) is (by is not None)


@pytest.mark.parametrize(
    ("words", "by"),
    [
        (["env", "-i"], "env -i"),
        (["env", "-"], "env -"),
        (["nice", "env", "A=1", "-i", "nohup"], "env -i"),
        (["env", "-u", "PYTHONPATH"], "env -u PYTHONPATH"),
        (["timeout", "9", "env", "--unset=PYTHONPATH"], "env --unset=PYTHONPATH"),
        (["env", "PYTHONPATH=."], "env PYTHONPATH=…"),
        (["env", "-S", "PYTHONPATH=. nice"], None),
        (["env", "-u", "OTHER", "PYTHONPATHS=."], None),
        (["nice", "-n", "3"], None),
    ],
)
def test_an_environment_without_our_folder_keeps_the_probe_out(
    words: list[str], by: str | None, home: Path
) -> None:
    found = find_interpreter([*words, "python", "train.py", "-i"], home, PATH)
    assert found is not None
    assert found.blinded_by == by


def test_a_wrapper_that_names_no_program_is_not_refused(home: Path) -> None:
    for words in (["flock", "/tmp/lock", "-c", "python train.py"], ["env"], ["timeout", "5"], ["taskset"]):
        assert find_interpreter(words, home, PATH) is None
        require_script(words, home)
    with pytest.raises(CommandNotFound, match="no such file"):
        require_script(["timeout", "60", "python", "trian.py"], home)


def test_console_scripts_name_their_python(home: Path) -> None:
    heads = {
        "plain": f"#!{sys.executable}\n",
        "by-env": "#!/usr/bin/env python3\n",
        "long": f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\n",
    }
    for name, head in heads.items():
        (home / name).write_text(head + "print(1)\n")
        (home / name).chmod(0o755)
        found = find_interpreter([f"./{name}"], home, PATH)
        assert found is not None, name
        assert Path(found.path).parent == BIN


def test_other_programs_are_no_python(home: Path) -> None:
    assert find_interpreter(["sh", "-c", "python train.py"], home, PATH) is None
    assert check_interpreter(["true"], home, {"PATH": PATH}).problem is not None


def test_what_does_not_exist(home: Path) -> None:
    (home / "train.py").write_text("")
    with pytest.raises(CommandNotFound, match="no-such"):
        find_interpreter(["no-such"], home, PATH)
    with pytest.raises(CommandNotFound, match=r"perftui run -- python \./train\.py$"):
        find_interpreter(["./train.py"], home, PATH)
    with pytest.raises(CommandNotFound, match=r"command not found; .*perftui run -- python train\.py$"):
        find_interpreter(["train.py"], home, PATH)
    (home / "train.sh").write_text("python train.py")
    with pytest.raises(CommandNotFound, match=r"perftui run -- bash train\.sh$"):
        find_interpreter(["./train.sh"], home, PATH)
    for flags in ([], ["-u"], ["-X", "dev"]):
        with pytest.raises(CommandNotFound, match=rf"^src/trian\.py: no such file in {home}$"):
            require_script(["env", "A=1", "python", *flags, "src/trian.py", "--epochs", "3"], home)
    for there in (["train.py", "other.py"], ["-m", "train.py"], ["-c", "pass", "other.py"], ["-", "a.py"]):
        require_script(["python", *there], home)
    require_script(["torchrun", "train.py"], home)
    require_script([], home)
    with pytest.raises(UsageError, match="no command"):
        find_interpreter([], home, PATH)


def test_asks_without_importing_torch(home: Path) -> None:
    (home / "torch").mkdir()
    (home / "torch" / "__init__.py").write_text("raise SystemExit('torch was imported')")
    (home / "torch" / "version.py").write_text("__version__ = '2.9.9+cu126'\ncuda: str = '12.6'\n")
    check = check_interpreter(["python", "x.py"], home, {"PATH": PATH, "PYTHONPATH": str(home)})
    assert (check.torch, check.torch_cuda, check.can_tear_down_cupti) == ("2.9.9+cu126", "12.6", True)
    assert check.python == sys.version_info[:3]


@pytest.mark.parametrize(("cuda", "can"), [(None, False), ("12.4", False), ("12.6", True), ("13.0", True)])
def test_cupti_is_torn_down_only_where_it_is_known_safe(cuda: str | None, *, can: bool) -> None:
    assert InterpreterCheck(torch_cuda=cuda).can_tear_down_cupti is can


def test_a_python_without_the_probes_needs_is_refused_with_the_command(bare: Path, home: Path) -> None:
    with pytest.raises(Refused) as caught:
        check_interpreter([str(bare), "train.py"], home, {"PATH": PATH})
    assert f"{bare} -m pip install 'msgspec>=0.19'" in str(caught.value)
    assert caught.value.exit_code == 4


def console_script(path: Path, first_line: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{first_line}\nprint(1)\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("flags", ["", " -E", " -I"])
@pytest.mark.parametrize("name", ["poetry", "conda", "pipenv", "hatch", "starts-trainings"])
def test_a_program_of_a_python_without_torch_is_not_refused(
    name: str, flags: str, bare: Path, home: Path
) -> None:
    console_script(home / "tools" / name, f"{bare}{flags}")
    command = ["nice", name, "run", "python", "train.py"]
    check = check_interpreter(command, home, {"PATH": f"{home / 'tools'}:{PATH}"})
    assert (check.path, check.python, check.blinded_by) == (None, None, None)
    assert check.problem is not None
    assert "keeps perftui out" not in environment_line(check)


def test_what_runs_an_environment_is_not_asked_though_it_has_torch(home: Path) -> None:
    """conda's own Python is that of its base environment, which may have all sorts of things."""
    for name in ("conda", "poetry"):
        console_script(home / "tools" / name, sys.executable)
        assert find_interpreter([f"tools/{name}", "run", "python"], home, PATH) is None
    for words in (["-m", "poetry", "run"], ["-Im", "pipenv", "run"], ["-X", "dev", "-mhatch", "run"]):
        assert find_interpreter(["python", *words, "python", "train.py"], home, PATH) is None
    for words in (["-m", "package", "poetry"], ["poetry"], ["-c", "pass", "-m", "poetry"], ["-Wm", "poetry"]):
        assert find_interpreter(["python", *words], home, PATH) is not None


@pytest.mark.parametrize("name", ["torchrun", "accelerate", "deepspeed", "own-entry-point"])
def test_a_program_whose_python_has_torch_is_refused_without_the_probes_needs(
    name: str, bare: Path, home: Path
) -> None:
    console_script(home / "tools" / name, str(bare))
    (home / "torch").mkdir()
    (home / "torch" / "__init__.py").touch()
    (home / "torch" / "version.py").write_text("__version__ = '2.9.9'\n")
    with pytest.raises(Refused, match=f"{bare} -m pip install 'msgspec>=0.19'"):
        check_interpreter([f"tools/{name}"], home, {"PATH": PATH, "PYTHONPATH": str(home)})


def test_env_lines_survive_a_shell_and_arm_it(home: Path) -> None:
    entry = "import sys; from perftui.tui.cli import main; sys.exit(main(['env']))"
    environment = {**os.environ, "PYTHONPATH": "/with blank:/second"}
    lines = subprocess.run(
        [sys.executable, "-c", entry], capture_output=True, text=True, check=True, env=environment
    ).stdout
    shown = subprocess.run(
        ["sh", "-c", lines + 'echo "$PERFTUI_ARM|$PYTHONPATH|$PERFTUI_PYTHON"'],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    arm, path, python = shown.split("|")
    assert (arm, python) == ("1", sys.executable)
    first, rest = path.split(":", 1)
    assert first.endswith("trainer/launch/inject")
    assert rest == "/with blank:/second"
