"""Which room may load what, proved in fresh processes: an import that creeps in fails here."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPORT = """
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
print(json.dumps(sorted(sys.modules)))
"""
HEAVY = re.compile(r"(torch|torchvision|numpy)(\.|$)")
SCREEN = re.compile(r"(textual|rich)(\.|$)")
TRAINER = re.compile(r"perftui\.trainer(\.|$)")
COMMAND_LINE = re.compile(r"perftui\.tui\.(cli|verbs)(\.|$)")
NAMES_TRAINER = re.compile(r"^\s*(from|import) perftui\.trainer\b", re.MULTILINE)
IN_THE_RANK = ("perftui.trainer.probe", "perftui.trainer.launch.inject.")
BY_NAME = re.compile(r"""import_module\(\s*["'](torch|torchvision)\b""")
WINDOW = {"memory_history.py", "script_profilers.py", "torch_session.py"}
STANDARD = frozenset(sys.stdlib_module_names) | {"perftui"}
KEEPER_MAY = re.compile(r"perftui(\.trainer(\.launch(\..+)?|\.telemetry(\.processes)?)?)?$")


def _modules(room: str) -> list[str]:
    found: list[str] = []
    for path in sorted((ROOT / room).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts[-1] not in ("__main__", "sitecustomize"):  # those act when imported
            found.append(".".join(("perftui", *parts)))
    return found


def _loaded_by(modules: list[str], *flags: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, *flags, "-c", REPORT, json.dumps(modules)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded: list[str] = json.loads(done.stdout.splitlines()[-1])
    return loaded


def _matching(pattern: "re.Pattern[str]", names: list[str]) -> list[str]:
    return [name for name in names if pattern.match(name)]


def test_the_dashboard_loads_neither_torch_nor_the_trainer() -> None:
    screens = [name for name in _modules("tui") if not COMMAND_LINE.match(name)]
    loaded = _loaded_by(screens)
    assert "perftui.tui.app" in loaded
    assert _matching(HEAVY, loaded) == []
    assert _matching(TRAINER, loaded) == []


def test_of_the_screens_room_only_the_command_line_names_the_trainer() -> None:
    names = {
        ".".join(("perftui", *path.relative_to(ROOT).with_suffix("").parts))
        for path in (ROOT / "tui").rglob("*.py")
        if NAMES_TRAINER.search(path.read_text())
    }
    assert "perftui.tui.verbs.starting" in names
    assert [name for name in names if not COMMAND_LINE.match(name)] == []


def test_the_command_line_starts_without_textual_torch_or_the_trainer() -> None:
    loaded = _loaded_by([name for name in _modules("tui") if COMMAND_LINE.match(name)])
    assert "perftui.tui.verbs.starting" in loaded
    assert _matching(HEAVY, loaded) == []
    assert _matching(SCREEN, loaded) == []
    assert _matching(TRAINER, loaded) == []


def test_what_crosses_processes_knows_neither_screen_nor_torch_nor_the_other_rooms() -> None:
    loaded = _loaded_by(_modules("ipc"))
    assert "perftui.ipc.codec" in loaded
    for pattern in (HEAVY, SCREEN, TRAINER, re.compile(r"perftui\.tui")):
        assert _matching(pattern, loaded) == []


def test_the_training_side_loads_no_screen_and_torch_only_in_the_rank() -> None:
    beside = [name for name in _modules("trainer") if not name.startswith(IN_THE_RANK)]
    assert len(beside) > 50
    loaded = _loaded_by(beside)
    assert _matching(re.compile(r"torch(\.|$)"), loaded) == []
    assert _matching(SCREEN, loaded) == []
    assert _matching(re.compile(r"perftui\.tui"), loaded) == []


def test_torch_is_loaded_by_name_only_where_profiling_windows_meet_it() -> None:
    sources = [path for room in ("ipc", "trainer", "tui") for path in (ROOT / room).rglob("*.py")]
    outside = [path for path in sources if path.parent != ROOT / "trainer" / "probe"]
    by_name = {path.relative_to(ROOT) for path in outside if BY_NAME.search(path.read_text())}
    assert by_name == {Path("trainer", "profiling", name) for name in WINDOW}


def test_the_probe_loads_no_screen() -> None:
    pytest.importorskip("torch")
    loaded = _loaded_by([name for name in _modules("trainer") if name.startswith("perftui.trainer.probe")])
    assert _matching(SCREEN, loaded) == []
    assert _matching(re.compile(r"perftui\.(tui|trainer\.(hub|diagnosis|tuning))(\.|$)"), loaded) == []


def test_the_keeper_needs_nothing_but_python() -> None:
    before = set(_loaded_by([]))
    loaded = set(_loaded_by(["perftui.trainer.launch.keeper"])) - before
    foreign = [n for n in loaded if n.partition(".")[0] not in STANDARD and not n.startswith("__editable__")]
    assert foreign == []
    assert [name for name in loaded if name.startswith("perftui") and not KEEPER_MAY.match(name)] == []


def test_import_contracts_hold() -> None:
    lint = Path(sys.executable).parent / "lint-imports"
    if not lint.exists():
        pytest.skip("import-linter is not installed; `make check` installs it")
    done = subprocess.run([str(lint), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.torch
def test_arming_a_process_brings_in_what_every_training_needs_and_no_more() -> None:
    script = (
        "import json, sys, torch; before = set(sys.modules)\n"
        "from perftui.trainer.probe.install import install; install(explicit=True)\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    added: list[str] = json.loads(done.stdout)
    assert "perftui.trainer.probe.hooks" in added
    late = r"perftui\.trainer\.probe\.(trial|overlay|agent$|facts|thread_looks|altering)"
    assert _matching(re.compile(late), added) == []
    roots = {name.partition(".")[0] for name in added}
    assert roots - STANDARD == {"msgspec"}
    assert roots & {"asyncio", "dis", "inspect", "linecache", "tokenize", "zmq"} == set()


@pytest.mark.torch
def test_a_training_needs_msgspec_and_torch_alone() -> None:
    """Also with its thread at work: armed by a launcher or by the shell, in a window, in a trial."""
    probe = [name for name in _modules("trainer") if name.startswith(IN_THE_RANK)]
    window = [f"perftui.trainer.profiling.{name.removesuffix('.py')}" for name in sorted(WINDOW)]
    modules = ["torch", *probe, *window, "perftui.trainer.profiling.window"]
    asked = f"import importlib, json, sys, torch; before = set(sys.modules)\n{REPORT}"
    asked = asked.replace("sorted(sys.modules)", "sorted(set(sys.modules) - before)")
    done = subprocess.run(
        [sys.executable, "-c", asked, json.dumps(modules)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    added: list[str] = json.loads(done.stdout.splitlines()[-1])
    assert "perftui.trainer.probe.start_hub" in added
    foreign = {name.partition(".")[0] for name in added} - STANDARD
    assert foreign & {"zmq", "textual", "rich", "numpy", "pynvml", "psutil"} == set()
