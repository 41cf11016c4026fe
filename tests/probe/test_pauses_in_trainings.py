"""Where a real training saves and validates, how much it writes, and what it validates with."""

import functools
from typing import TYPE_CHECKING

import pytest

from perftui.ipc.loader_facts import ValidatingFacts
from perftui.ipc.messages import Facts, RankEvent

from .training_scripts import PREAMBLE

if TYPE_CHECKING:
    from .conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow]

LOOP = (
    PREAMBLE
    + """
def save():
    torch.save(model.state_dict(), "last.pt")

@torch.no_grad()
def evaluate(loader):
    model.eval()
    for x, y in loader:
        model(x)
    model.train()

def evaluate_with_gradients(data):
    model.eval()
    for at in range(len(data)):
        time.sleep(0.005)
        model(data[at][0])
    model.train()

def main():
    train, valid = DataLoader(Data(64), batch_size=2), DataLoader(Data(8), batch_size=4)
    for number, batch in enumerate(train):
        step(batch)
        if number % 10 == 9:
            save()
            EVALUATE
            time.sleep(0.3)

main()
"""
)


def _line(script: str, code: str) -> int:
    return next(at for at, line in enumerate(script.splitlines(), 1) if line.strip() == code)


def _trained(hub: "Hub", evaluate: str) -> tuple["Outcome", functools.partial[int]]:
    script = LOOP.replace("EVALUATE", evaluate)
    outcome = hub.train(script)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome, functools.partial(_line, script)


def _validating(outcome: "Outcome") -> ValidatingFacts:
    told = [each.facts.validating for each in outcome.of(Facts) if each.facts.validating is not None]
    return told[-1]


def test_a_save_tells_its_line_its_size_and_its_step(hub: "Hub") -> None:
    outcome, line = _trained(hub, "evaluate(valid)")
    saves = [event for event in outcome.of(RankEvent) if event.event == "checkpoint"]
    assert [event.step for event in saves] == [9, 19, 29]
    at = line('torch.save(model.state_dict(), "last.pt")')
    assert {event.at for event in saves} == {f"train.py:{at} save"}
    size = (hub.work / "last.pt").stat().st_size
    assert {(event.text, event.size_bytes) for event in saves} == {("last.pt", size)}
    seen = _validating(outcome)
    assert seen.at == f"train.py:{line('for x, y in loader:')} evaluate"
    assert (seen.without_gradients, seen.num_workers, seen.batch_size) == (True, 0, 4)


def test_without_a_loader_the_call_of_eval_is_the_place(hub: "Hub") -> None:
    outcome, line = _trained(hub, "evaluate_with_gradients(valid.dataset)")
    first = line("model.eval()")
    after = LOOP.splitlines()[first:]
    second = first + next(at for at, text in enumerate(after, 1) if text.strip() == "model.eval()")
    seen = _validating(outcome)
    assert seen == ValidatingFacts(at=f"train.py:{second} evaluate_with_gradients")
