"""Steps of loops without a loader, and of loops with one in which several optimizers step."""

import json
from typing import TYPE_CHECKING

import pytest
import torch

from perftui.ipc.messages import Goodbye
from perftui.trainer.probe.border import Border
from perftui.trainer.probe.live_objects import live_objects
from perftui.trainer.probe.optimizer_cycle import BEGINS_AGAIN, ENDS, REPEATS_HELD, OptimizerCycle
from perftui.trainer.probe.phase_sampling import PhaseSampling
from perftui.trainer.probe.stamps import StampRing
from perftui.trainer.probe.step_clock import HELD_REPEATS
from tests.probe.training_scripts import PREAMBLE

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = pytest.mark.torch


def turns(order: str) -> str:
    """Step through optimizers by letter, `-` for a fetch, `b` for a backward.

    `+` counts a step, `|` ends it, `*` does both.
    """
    cycle, batches, told = OptimizerCycle(), 0, ""
    stepped = 0
    backed = False
    for each in order:
        if each == "-":
            batches += 1
        elif each == "b":
            backed = True
        elif batches != stepped:
            stepped = batches  # the first since a fetch: no question of the cycle
        else:
            turn = cycle.step(ord(each), batches, backed=backed)
            backed = False
            batches += bool(turn & BEGINS_AGAIN)
            stepped = batches
            told += " +|*"[bool(turn & BEGINS_AGAIN) + 2 * bool(turn & ENDS)]
            continue
        told += " "
    return told


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("AAAAA", "++***"),
        ("ABABABAB", "+ + +|+|"),
        ("ABCABCABCABC", "+  +  + |+ |"),
        ("AABAABAABAAB", "++ ++ ++ ++ "),  # no two cycles follow each other that are alike
        ("ABABABAABABAB", "+ + +|++ + +|"),
        ("ABABABBBBABABABAB", "+ + +|   + + +|+|"),
        ("bAbAbAbAbA", " + + * * *"),
        ("bAAbAAbAAbAAbAA", " +  +  +| +| +|"),
        ("bAAABBBbAAABBBbAAABBBbAAABBB", " +      +      +    | +    |"),
        ("bAbBbAbBbAbBbAbB", " +   +   + | + |"),
        ("-bAAA-bAAA-bAAA", "               "),
        ("-bAAAAAAAAAAAAbAAAAAAAAAAAAbAAAA", " " * 32),
        ("-AB-AB-AB-AB", "            "),
        ("-ABC-ABC-ABC", "            "),
        ("-AAAAB-AAAAB-AAAAB", "                  "),
        ("-AAAAAAAAAAAAAA", "          *****"),
        ("-ABABABABABABABABABABABAB", "                  +|+|+|+"),
    ],
)
def test_a_step_is_over_when_its_first_optimizer_steps_again(order: str, told: str) -> None:
    assert turns(order) == told


def test_a_loop_on_one_batch_is_told_as_the_step_clock_tells_it() -> None:
    assert REPEATS_HELD == HELD_REPEATS


def test_a_step_that_is_left_out_is_told_of_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_objects.ddp, "all", lambda: [object()])
    sampling = PhaseSampling(StampRing(lambda _number, _at_ns, _cpu_ns: None), Border())
    cpu = torch.device("cpu")
    for left_out, steps in ((False, 1), (True, 1), (False, 2)):
        sampling.next_at = sampling._due = 0  # pyright: ignore[reportPrivateUsage]
        sampling.at_step(5, 100, cpu, fetched=False)
        assert sampling.on
        sampling.syncs._open_backwards = 2  # pyright: ignore[reportPrivateUsage]
        if left_out:
            sampling.leave_out()
            assert not sampling.on
        sampling.at_step(6, 200, cpu, fetched=False)
        assert (sampling.syncs.steps, sampling.syncs.backwards) == (steps, 2 * steps)


LISTENING = (
    PREAMBLE
    + """
import json
from perftui.trainer.probe import install

recorder = install._installed[0].recorder
sampled, looked = [], []
recorder.sampling.at_step = lambda batches, _at_ns, _device, fetched: sampled.append((count, fetched))
recorder.look = lambda key, batch: looked.append(count)
other = torch.optim.Adam(model.parameters(), 0.01)
count = 0
def both(batch):
    step(batch)
    nn.functional.cross_entropy(model(batch[0]), batch[1]).backward()
    other.step()
"""
)
GAN = (
    LISTENING
    + """
for batch in DataLoader(Data(600), batch_size=1):
    both(batch)
    count += 1
print(json.dumps([sampled, looked, recorder.batches]))
"""
)
WITHOUT_LOADER = (
    LISTENING
    + """
batch = torch.randn(4, 8), torch.zeros(4, dtype=torch.long)
for _ in range(60):
    both(batch)
    count += 1
print(json.dumps([sampled, looked, recorder.batches]))
"""
)


@pytest.mark.slow
def test_with_a_loader_only_its_fetches_begin_a_step(hub: "Hub") -> None:
    outcome = hub.train(GAN)
    assert (outcome.exit_code, outcome.stderr, outcome.steps()) == (0, "", 600)
    assert outcome.of(Goodbye)[0].errors == 0
    sampled, looked, batches = json.loads(outcome.stdout)
    assert sampled == [[number, True] for number in range(601)]
    assert (looked, batches) == ([0, 255, 511], 600)


@pytest.mark.slow
def test_without_one_a_step_begins_where_its_last_optimizer_ends(hub: "Hub") -> None:
    outcome = hub.train(WITHOUT_LOADER)
    assert (outcome.exit_code, outcome.stderr, outcome.steps()) == (0, "", 60)
    sampled, looked, batches = json.loads(outcome.stdout)
    assert sampled == [[number, False] for number in range(2, 60)]
    assert (looked, batches) == ([], 60)
