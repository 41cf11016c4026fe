"""torch.compile passes over our hooks: what it compiles and cuts is as without us, and backwards are seen."""

import json
import sys
from types import CodeType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from perftui.ipc.messages import Facts, Goodbye
from perftui.ipc.own_files import is_ours
from perftui.trainer.probe import hooks, untraced
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.compile_reading import CompileReader
from perftui.trainer.probe.recorder import Recorder
from tests.probe.training_scripts import PREAMBLE

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = pytest.mark.torch


def test_every_function_of_ours_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    skipped: list[CodeType] = []
    dynamo = ModuleType("torch._dynamo.eval_frame")
    vars(dynamo)["skip_code"] = skipped.append
    monkeypatch.setitem(sys.modules, dynamo.__name__, dynamo)
    border = Border()
    untraced.leave_untraced(border)
    sys.meta_path.pop(0)
    assert border.take_reports() == []
    assert {hooks.install_hooks.__code__, Recorder.claim_work.__code__} <= set(skipped)
    names = {code.co_name for code in skipped}
    assert {"backward", "scale", "fetch", "iterate", "before", "after"} <= names
    assert {"guarded", "put", "validating"} <= names, "what hooks call, and properties"
    assert all(is_ours(code.co_filename) for code in skipped)


def test_a_torch_that_skips_otherwise_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    dynamo = ModuleType("torch._dynamo.eval_frame")
    monkeypatch.setitem(sys.modules, dynamo.__name__, dynamo)
    border = Border()
    untraced.leave_untraced(border)
    sys.meta_path.pop(0)
    assert border.errors == 0


def test_a_cut_within_our_hooks_is_not_the_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(file: str) -> Any:  # noqa: ANN401
        return SimpleNamespace(reason="Tensor.item", user_stack=[SimpleNamespace(filename=file, lineno=7)])

    books = {
        "counters": {"frames": {"total": 1, "ok": 1}, "stats": {}, "graph_break": {}},
        "_compilation_metrics": [],
        "graph_break_reasons": [cut(hooks.__file__), cut("/home/me/train.py"), cut(hooks.__file__)],
    }
    monkeypatch.setattr("perftui.trainer.probe.compile_reading.open_books", lambda: books)
    facts, _ = CompileReader(0).read()
    assert facts is not None
    assert facts.graph_breaks == 1
    assert [one.at for one in facts.breaks] == ["/home/me/train.py:7"]


COMPILED = (
    PREAMBLE
    + """
import json
import sys
from torch._dynamo.utils import counters, graph_break_reasons

scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

def whole(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    torch.autograd.backward(nn.functional.cross_entropy(model(x), y))
    return loss.detach()

compiled = torch.compile(whole, backend="eager")
for epoch in range(2):
    for x, y in DataLoader(Data(), batch_size=4):
        optimizer.zero_grad()
        compiled(x, y)
        scaler.step(optimizer)
        scaler.update()
lines = [one.user_stack[-1].lineno for one in graph_break_reasons]
print(json.dumps([dict(counters["frames"]), dict(counters["stats"]), lines]))
"""
)


@pytest.mark.slow
def test_a_compiled_step_is_compiled_as_without_us_and_its_backwards_are_seen(hub: "Hub") -> None:
    outcome = hub.train(COMPILED)
    bare = hub.train(COMPILED, PERFTUI_OFF="1")
    assert (outcome.exit_code, outcome.stderr) == (0, bare.stderr)
    assert json.loads(outcome.stdout) == json.loads(bare.stdout)
    assert outcome.of(Goodbye)[0].errors == 0
    assert outcome.steps() == 24
    assert all(spent > 0 for spent in outcome.column("backward_ns"))
    told = [message.facts.compile for message in outcome.of(Facts) if message.facts.compile is not None][-1]
    assert all("train.py" in str(one.at) for one in told.breaks)
