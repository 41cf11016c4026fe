"""What torch.compile says of itself, read from real compilations with backends that need no compiler."""

import importlib
import inspect
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from perftui.ipc.facts import CompileFacts
from perftui.trainer.probe.compile_reading import NOTHING, CompileReader
from perftui.trainer.probe.compile_words import break_reason, guard_reason, place
from perftui.trainer.probe.dynamo_books import A_MODULE, copied

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Guards may run slower"),  # torch on Python 3.13.0
]

UTILS = "torch._dynamo.utils"
ONES = torch.ones(4)


@pytest.fixture(autouse=True)
def clean_books(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Books as in a fresh process: dynamo's are the process's own."""
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")  # some versions of torch start processes of
    monkeypatch.setenv("TORCH_DISABLE_ADDR2LINE", "1")  # their own, and keep them until the end

    dynamo: Any = importlib.import_module("torch._dynamo")
    books = vars(sys.modules[UTILS])

    def clear() -> None:
        dynamo.reset()
        for name in ("_compilation_metrics", "graph_break_reasons", "guard_failures", "counters"):
            books[name].clear()

    clear()
    yield
    clear()


def reader() -> CompileReader:
    return CompileReader(time.time_ns() - time.perf_counter_ns())


def facts(read_by: CompileReader) -> CompileFacts:
    found, reason = read_by.read()
    assert reason is None
    assert found is not None
    return found


def add_or_double(x: torch.Tensor, double: bool) -> torch.Tensor:
    return x * 2 if double else x + 1


def cut_by_a_print(x: torch.Tensor) -> torch.Tensor:
    x = x * 2
    print("a graph cannot print")  # noqa: T201
    return x + 1


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.inner(x) + 1
        return y


def compiled(
    function: Callable[..., Any], backend: str | Callable[..., Any] = "eager", dynamic: bool | None = None
) -> Callable[..., Any]:
    result: Callable[..., Any] = torch.compile(function, backend=backend, dynamic=dynamic)
    return result


def line_of(function: Callable[..., Any], text: str) -> str:
    lines, first = inspect.getsourcelines(function)
    number = next(first + at for at, line in enumerate(lines) if text in line)
    return place(__file__, number)


def test_nothing_compiled_is_no_figure() -> None:
    assert reader().read() == (None, NOTHING)


def test_reading_never_imports_dynamo() -> None:
    script = (
        "import sys, torch\n"
        "from perftui.trainer.probe.compile_reading import CompileReader\n"
        "print(CompileReader(0).read(), 'torch._dynamo' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{(None, NOTHING)} False\n"


def test_graphs_recompiles_and_their_reason() -> None:
    read_by = reader()
    run = compiled(add_or_double)
    run(ONES, True)
    first = facts(read_by)
    assert (first.frames, first.graphs, first.recompiles) == (1, 1, 0)
    assert read_by.take_happenings()[0].text == f"compiled add_or_double ({line_of(add_or_double, 'def ')})"
    run(ONES, False)
    run(ONES, False)  # the same again: nothing to compile
    second = facts(read_by)
    assert (second.frames, second.graphs, second.recompiles) == (2, 2, 1)
    (again,) = second.recompiled
    assert (again.function, again.at, again.count) == (
        "add_or_double",
        line_of(add_or_double, "def "),
        1,
    )
    assert again.reason is not None
    assert "double" in again.reason
    (event,) = read_by.take_happenings()
    assert event.text == f"recompiled add_or_double ({again.at}): {again.reason}"
    assert (second.graph_breaks, second.limit_hits, second.failures, second.cudagraph_skips) == (0, 0, 0, 0)
    assert second.missing == {}


def test_events_lie_where_the_compilation_was() -> None:
    read_by = reader()
    before = time.perf_counter_ns()
    compiled(add_or_double)(ONES, True)
    after = time.perf_counter_ns()
    found = facts(read_by)
    (event,) = read_by.take_happenings()
    slack = 50_000_000  # the wall clock may be adjusted meanwhile
    assert before - slack <= event.at_ns <= event.at_ns + event.duration_ns <= after + slack
    assert found.compile_s == pytest.approx(event.duration_ns / 1e9, abs=0.001)
    assert read_by.take_happenings() == []


def test_a_graph_break_has_its_text_and_place() -> None:
    compiled(cut_by_a_print)(ONES)
    found = facts(reader())
    assert found.graph_breaks == 1
    (cut,) = found.breaks
    assert cut.at == line_of(cut_by_a_print, "cannot print")
    assert "print" in cut.reason
    assert cut.count == 1


def test_the_same_break_is_counted_once_for_each_reading() -> None:
    read_by = reader()
    run = compiled(cut_by_a_print, dynamic=False)
    run(ONES)
    assert facts(read_by).graph_breaks == 1
    run(torch.ones(5))
    found = facts(read_by)
    assert found.graph_breaks == 2
    assert [cut.count for cut in found.breaks] == [2]
    assert facts(read_by) == found


def test_the_limit_of_recompilations_is_told() -> None:
    read_by = reader()
    run = compiled(add_or_double, dynamic=False)
    for size in range(2, 14):
        run(torch.ones(size), True)
        facts(read_by)
    found = facts(read_by)
    assert found.limit_hits == 1
    assert found.recompiles == 7  # eight graphs
    assert [(one.function, one.count) for one in found.recompiled] == [("add_or_double", 7)]
    reason = found.recompiled[0].reason
    assert reason is not None
    assert "expected 8, actual 9" in reason
    assert found.failures == 0


def test_a_function_that_cannot_be_compiled_is_named() -> None:
    def refuse(_graph: object, _inputs: object) -> Callable[..., Any]:
        raise ValueError("not this one")

    with pytest.raises(Exception, match="not this one"):  # of a type private to torch
        compiled(add_or_double, backend=refuse)(ONES, True)
    found = facts(reader())
    assert (found.failures, found.recompiles) == (1, 0)
    assert "refuse" in found.uncompiled[0].reason


def test_the_backward_counts_for_time_alone() -> None:
    read_by = reader()
    x = torch.ones(4, requires_grad=True)
    compiled(add_or_double, backend="aot_eager")(x, True).sum().backward()
    found = facts(read_by)
    assert (found.frames, found.graphs, found.recompiles) == (1, 1, 0)
    assert len(read_by.take_happenings()) == 1
    metrics: Any = vars(sys.modules[UTILS])["_compilation_metrics"]
    took = [getattr(one, "duration_us", None) or one.entire_frame_compile_time_s * 1e6 for one in metrics]
    assert found.compile_s == pytest.approx(sum(took) / 1e6, abs=0.001)


def test_a_module_is_named_by_where_it_is_called() -> None:
    for _ in range(2):  # a second object of the class is no recompilation of the first
        model = Net()
        model.compile(backend="eager")
        model(ONES)
        model(torch.ones(3, 4))
    found = facts(reader())
    assert (found.frames, found.recompiles) in ((4, 2), (2, 1))  # newer torch shares graphs among objects
    assert {again.function for again in found.recompiled} <= {"forward", A_MODULE}
    assert all(again.at.startswith("tests/probe/test_compile_reading.py:") for again in found.recompiled)
    assert all("expected 1, actual 2" in str(again.reason) for again in found.recompiled)


def test_reading_while_another_thread_compiles() -> None:
    read_by = reader()
    over = threading.Event()
    readings: list[object] = []

    def read() -> None:
        while not over.wait(0.001):
            readings.append(read_by.read())
        readings.append("the end")

    thread = threading.Thread(target=read)
    thread.start()
    run = compiled(cut_by_a_print, dynamic=False)
    for size in range(2, 8):
        run(torch.ones(size))
    over.set()
    thread.join()
    assert readings[-1] == "the end"  # nothing was raised
    found = facts(read_by)
    assert found.graph_breaks == 6
    assert found.graphs == sys.modules[UTILS].counters["stats"]["unique_graphs"]


def test_a_torch_that_keeps_other_books_leaves_figures_out(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = ModuleType(UTILS)
    vars(stranger)["counters"] = {"frames": {"total": 3, "ok": 2}, "stats": {"unique_graphs": 2}}
    monkeypatch.setitem(sys.modules, UTILS, stranger)
    found = facts(reader())
    assert (found.frames, found.graphs, found.graph_breaks) == (2, 2, 0)
    assert (found.recompiles, found.failures, found.compile_s) == (None, None, None)
    assert set(found.missing) == {"recompiles", "failures", "compile_s", "breaks"}
    vars(stranger).clear()
    vars(stranger)["_compilation_metrics"] = [object()]
    found = facts(reader())
    assert (found.frames, found.graphs, found.graph_breaks) == (1, None, None)
    assert set(found.missing) == {"graphs", "limit_hits", "cudagraph_skips", "breaks", "compile_s"}


def test_more_than_torch_keeps_is_said() -> None:
    read_by = reader()
    run = compiled(add_or_double)
    run(ONES, True)
    facts(read_by)
    vars(sys.modules[UTILS])["_compilation_metrics"].clear()
    run(ONES, False)
    found = facts(read_by)
    assert "too low" in found.missing["compile_s"]


def test_what_changes_while_it_is_copied_is_copied_again() -> None:
    attempts: list[int] = []

    def copy(things: Iterable[int]) -> list[int]:
        attempts.append(1)
        if len(attempts) < 3:
            raise RuntimeError("deque mutated during iteration")
        return list(things)

    assert copied(copy, [1, 2]) == [1, 2]
    assert len(attempts) == 3
    assert copied(list, None) is None


def test_skipped_cuda_graphs_are_counted_with_their_reason() -> None:
    """As torch 2.11 wrote it on a GPU; without one it takes a C++ compiler to get that far."""
    text = (
        "skipping cudagraphs due to skipping cudagraphs due to cpu device (arg1_1). Found from : \n"
        '   File "/a/train.py", line 13, in f\n    def f(x, c): return x\n'
    )
    run = compiled(add_or_double)
    run(ONES, True)
    books = vars(sys.modules[UTILS])
    books["counters"]["inductor"]["cudagraph_skips"] += 1
    found = facts(reader())
    assert (found.cudagraph_skips, found.skip_reasons) == (1, [])
    assert "run time" in found.missing["skip_reasons"]
    entry: Any = SimpleNamespace(**{**vars(books["_compilation_metrics"][0]), "cudagraph_skip_reason": text})
    books["_compilation_metrics"].append(entry)
    found = facts(reader())
    assert found.skip_reasons == ["cpu device (arg1_1) (/a/train.py:13)"]
    assert found.missing == {}


def test_words_are_short_and_lose_no_cause() -> None:
    text = "Failed to trace builtin operator\n  Explanation: Dynamo cannot trace `print`\n  Hint: do not"
    assert break_reason(text) == "Failed to trace builtin operator: Dynamo cannot trace `print`"
    assert break_reason("x" * 500).endswith("…")
    assert guard_reason("0/1: tensor 'x' size mismatch.  expected 3\nUser stack trace:\n …") == (
        "tensor 'x' size mismatch. expected 3"
    )
    assert place("/a/lib/site-packages/kit/net.py", 7) == "kit/net.py:7"
    assert place("/elsewhere/train.py", 3) == "/elsewhere/train.py:3"
