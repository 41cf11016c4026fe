"""The order of the samples in real trainings, with and without workers, as it comes over the socket."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.probe.told_facts import PREAMBLE, last

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.slow]

_ORDERED = (
    PREAMBLE
    + """
class Once(torch.utils.data.Sampler):
    def __init__(self, count):
        self.order = torch.randperm(count, generator=torch.Generator().manual_seed(3)).tolist()
    def __iter__(self):
        return iter(self.order)

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 80
    def __getitem__(self, index):
        return torch.full((8,), float(index)), torch.ones(2)

net = nn.Linear(8, 2)
optimizer = torch.optim.SGD(net.parameters(), 1e-6)
loader = DataLoader(Numbers(), batch_size=8, OPTIONS)
seen = []
for epoch in range(4):
    SEED
    for x, y in loader:
        step(net, optimizer, x, y)
        seen.append(int(x[0, 0]))
    with torch.no_grad():
        for x, y in DataLoader(Numbers(), batch_size=8):
            net(x)
print("asked", seen)
time.sleep(2)  # on a busy host the last reading may be cut short: one is due meanwhile
"""
)
_OWN = "sampler=Once(80)"
_KEPT = "num_workers=2, persistent_workers=True"


@pytest.mark.parametrize(
    ("options", "seed", "alike", "draws"),
    [
        (_OWN, "", 4, True),
        (f"{_OWN}, num_workers=2", "", 4, True),
        (f"{_OWN}, {_KEPT}", "", 4, True),
        ("shuffle=True", "", 1, True),
        (f"shuffle=True, {_KEPT}", "", 1, True),
        (f"shuffle=True, {_KEPT}", "torch.manual_seed(3)", 3, True),  # the first draws more
        ("shuffle=False", "", 4, None),
    ],
)
def test_epochs_that_ask_for_the_same_samples(
    hub: "Hub", options: str, seed: str, alike: int, draws: bool | None
) -> None:
    outcome = hub.train(_ORDERED.replace("OPTIONS", options).replace("SEED", seed or "pass"))
    assert outcome.exit_code == 0, outcome.stderr
    told = last(outcome).sampling
    assert told is not None, last(outcome).missing
    assert (told.orders_alike, told.draws) == (alike, draws)
    assert (told.order_batches, told.order_samples) == (10, 80)
    assert told.order_in_line is (options == "shuffle=False")


def test_nothing_is_drawn_for_it(hub: "Hub") -> None:
    """The order and what is drawn after it are those of the script by itself."""
    script = _ORDERED.replace("OPTIONS", "shuffle=True, num_workers=2").replace("SEED", "pass")
    seeded = script.replace("net = nn", "torch.manual_seed(11)\nnet = nn", 1)
    drawn = seeded.replace('print("asked", seen)', 'print("asked", seen, torch.rand(1).item())')
    outcome = hub.train(drawn)
    assert outcome.exit_code == 0, outcome.stderr
    alone = subprocess.run(
        [sys.executable, "train.py"], cwd=hub.work, capture_output=True, text=True, timeout=120, check=True
    )
    assert outcome.stdout == alone.stdout
