"""Waits for the GPU in a line that prints too: which call of the line runs.

There is no GPU here: what waits is a function of C that waits for a queue, under the name of one that waits
for the GPU. The thread, its frames and instructions are real.
"""

import queue
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from perftui.ipc.facts import StackFacts
from perftui.trainer.probe.device_reads import called_at
from perftui.trainer.probe.thread_looks import ThreadLooks

torch = pytest.importorskip("torch")
Held = queue.SimpleQueue[float]
pytestmark = pytest.mark.torch
exactly = pytest.mark.skipif(sys.version_info < (3, 11), reason="lines have no columns before Python 3.11")


@pytest.fixture
def held() -> Held:
    """Something to wait for: empty, its `get` waits in C, and takes any argument for a flag."""
    return Held()


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)


def _seen(line: str, folder: Path, held: Held, *calls: str, above: str = "") -> StackFacts:
    """Look at a thread that stands in a line of a script; all `calls` of `it` wait."""
    script = folder / "train.py"
    script.write_text(f"{above}def work():\n    {line}\n")
    it = types.SimpleNamespace(**dict.fromkeys(calls, held.get))
    space: dict[str, object] = {"it": it, "sys": sys, "torch": torch}
    exec(compile(script.read_text(), str(script), "exec"), space)
    work = space["work"]
    assert isinstance(work, types.FunctionType)
    return _looked(work, held)


def _looked(work: Callable[[], object], held: Held) -> StackFacts:
    thread = threading.Thread(target=work)
    thread.start()
    looks = ThreadLooks()
    while (found := looks.facts()) is None or (found.looks < 200 and max(found.areas.values()) < 100):
        assert thread.is_alive()
        looks.look(thread.ident or 0)
    held.put(1.0)
    thread.join()
    return found


def _most(found: StackFacts) -> str:
    return max(found.areas, key=lambda area: found.areas[area])


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    "line",
    [
        'print(f"loss {it.item():.3f}", flush=True)',
        'print("loss", it.item())',
        'sys.stdout.write(str(it.item()) + "\\n")',
        "total = 0.0; total += it.item()",
    ],
)
def test_reading_in_a_line_that_writes(line: str, tmp_path: Path, held: Held) -> None:
    assert _most(_seen(line, tmp_path, held, "item")) == "device"


@exactly
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    "line", ['it.write(f"loss {float(0.5):.3f}")', "it.write(str(torch.ones(1).item()))"]
)
def test_writing_in_a_line_that_reads(line: str, tmp_path: Path, held: Held) -> None:
    assert _most(_seen(line, tmp_path, held, "write")) == "logging"


@exactly
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("name", ["item", "tolist", "cpu", "numpy", "synchronize", "nonzero"])
def test_each_call_that_waits(name: str, tmp_path: Path, held: Held) -> None:
    assert _most(_seen(f"it.{name}()", tmp_path, held, name)) == "device"


@exactly
@pytest.mark.usefixtures("cuda")
def test_a_copy_to_the_host_waits_and_one_to_the_device_is_none_of_these(tmp_path: Path, held: Held) -> None:
    assert _most(_seen('it.to("cpu")', tmp_path, held, "to")) == "device"
    other = tmp_path / "other"
    other.mkdir()
    assert _most(_seen('it.to("cuda")', other, held, "to")) == "script"


@exactly
@pytest.mark.usefixtures("cuda")
def test_a_call_over_several_lines_and_with_letters_of_many_bytes(tmp_path: Path, held: Held) -> None:
    line = 'print("Müßiggang", (it\n        .item(\n    )), "é")'
    assert _most(_seen(line, tmp_path, held, "item")) == "device"
    place = max(_seen_again(line, tmp_path).places, key=lambda place: place.count)
    assert place.area == "device"


def _seen_again(line: str, folder: Path) -> StackFacts:
    return _seen(line, folder, Held(), "item")


def test_without_a_gpu_a_line_that_writes_is_logging(tmp_path: Path, held: Held) -> None:
    found = _seen('print(f"loss {it.item():.3f}")', tmp_path, held, "item")
    assert _most(found) == "logging"
    assert found.waits_told


@exactly
def test_what_an_instruction_calls() -> None:
    namespace: dict[str, object] = {}
    exec(compile("def f(x):\n    return x", "nowhere.py", "exec"), namespace)
    function = namespace["f"]
    assert isinstance(function, types.FunctionType)
    assert called_at(function.__code__, 0) is None, "no source"
    assert called_at(function.__code__, -1) is None
