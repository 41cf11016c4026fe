"""Tokens of a real training, through accumulation and reading ahead."""

from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import Facts

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.slow]

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader
torch.set_num_threads(1)

def padded(items):
    length = max(items)
    ids = torch.ones(len(items), length, dtype=torch.long)
    mask = torch.zeros(len(items), length, dtype=torch.long)
    for row, filled in enumerate(items):
        mask[row, :filled] = 1
    return {"input_ids": ids, "attention_mask": mask}

loader = DataLoader([10, 20] * 12, batch_size=2, collate_fn=padded)
model = nn.Sequential(nn.Embedding(8, 4), nn.Linear(4, 8))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(2):
    for number, batch in enumerate(loader):
        ids = batch["input_ids"]
        nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        if number % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
"""


def test_tokens_of_accumulated_steps_and_how_many_of_them_are_padding(module_hub: "Hub") -> None:
    outcome = module_hub.train(SCRIPT)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.column("tokens") == [3 * 2 * 20] * 8
    assert outcome.column("samples") == [3 * 2] * 8
    batches = [each.facts.batch for each in outcome.of(Facts) if each.facts.batch is not None]
    assert batches[-1].padding_share == pytest.approx(0.25)
