"""What checkpoints and validations are told by: how often, how much, where, and only advice that is new."""

from dataclasses import replace

import pytest

from perftui.ipc.findings import Remedy
from perftui.ipc.loader_facts import ValidatingFacts
from perftui.trainer.diagnosis.signals import PauseSignals

from .made import facts, found, rank, remedy_of, run

SAVES = PauseSignals("checkpoint", 10, 2400.0, 300.0, 0.2)
VALIDATIONS = PauseSignals("validation", 4, 4000.0, 1200.0, 0.4)


def told(pause: PauseSignals, seen: ValidatingFacts | None = None) -> tuple[str, Remedy]:
    finding = found(run(rank(pauses=(pause,), facts=facts(validating=seen))))[f"pause.{pause.kind}"]
    return finding.sentence, remedy_of(finding)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "10 times in 12 s, 240 ms each."),
        ({"share": 1.0}, "10 times, 240 ms each."),
        ({"count": 1}, "once in 12 s, 2400 ms."),
        ({"every_steps": 20}, "every 20 steps, 240 ms each."),
        ({"every_steps": 1}, "after every step, 240 ms each."),
        (
            {"every_steps": 20, "size_mib": 12.0, "file": "last.pt", "one_file": True},
            "every 20 steps, 240 ms each, 12 MiB to last.pt.",
        ),
        ({"size_mib": 2048.0, "file": "step40.pt"}, "12 s, 240 ms each, 2 GiB to step40.pt and others."),
        ({"file": "a stream", "one_file": True}, "12 s, 240 ms each, to a stream."),
    ],
)
def test_how_often_and_how_much_is_saved(changes: dict[str, object], words: str) -> None:
    sentence, _ = told(replace(SAVES, **changes))  # type: ignore[arg-type]
    assert sentence.endswith(words)


def test_the_line_that_saves_and_the_interval_to_lengthen() -> None:
    _, remedy = told(replace(SAVES, every_steps=20, at="train.py:27 save"))
    assert remedy.at == "train.py:27 save"
    assert remedy.advice is not None
    assert remedy.advice.startswith("save more rarely (now every 20 steps), ")
    assert told(SAVES)[1].at is None


def test_nothing_is_advised_that_is_done_already() -> None:
    seen = ValidatingFacts(at="train.py:50 evaluate", without_gradients=True, num_workers=2, batch_size=64)
    sentence, remedy = told(replace(VALIDATIONS, every_steps=25), seen)
    assert sentence == "Validation takes 40 % of the time: every 25 steps, 1000 ms each."
    assert remedy.at == "train.py:50 evaluate"
    assert remedy.advice == (
        "validate more rarely (now every 25 steps) or on a part of the data; with a batch above 64"
    )


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (None, ["workers, if it has none", "no_grad()), if it has them", "a larger batch"]),
        (ValidatingFacts(without_gradients=True, num_workers=0), ["give its loader workers;"]),
        (ValidatingFacts(at="train.py:9 main"), ["no_grad()), if it has them"]),
    ],
)
def test_what_is_not_known_is_said_with_an_if(seen: ValidatingFacts | None, words: list[str]) -> None:
    advice = told(VALIDATIONS, seen)[1].advice or ""
    assert all(each in advice for each in words)
    assert ("no_grad" in advice) is (seen is None or not seen.without_gradients)
    assert ("workers" in advice) is (seen is None or seen.num_workers == 0)
