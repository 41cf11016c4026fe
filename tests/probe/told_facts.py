"""How small trainings begin that are asked for their facts, and what they told."""

from typing import TYPE_CHECKING

from perftui.ipc.facts import RankFacts, merged
from perftui.ipc.messages import Facts

if TYPE_CHECKING:
    from tests.probe.conftest import Outcome

PREAMBLE = """
import gc, os, sys, time, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(48, 8), torch.zeros(48, dtype=torch.long))

def step(model, optimizer, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def last(outcome: "Outcome", rank: int = 0) -> RankFacts:
    """All that a rank has told, as the hub keeps it."""
    facts = RankFacts()
    for message in outcome.of(Facts, rank):
        facts = merged(facts, message.facts)
    return facts
