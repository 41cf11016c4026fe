"""Shapes of training loops, each counted by the script itself and by the probe."""

from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import (
    FLAG_COMPILING,
    FLAG_EXPLICIT_BOUNDARY,
    FLAG_FAILED,
    FLAG_WAIT_UNKNOWN,
    Goodbye,
    RankEvent,
)
from tests.probe.training_scripts import PREAMBLE, partitions

if TYPE_CHECKING:
    from tests.probe.conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow]

LOOPS = {
    "gan": """
other = torch.optim.Adam(model.parameters(), 0.01)
for batch in loader:
    step(batch)
    nn.functional.cross_entropy(model(batch[0]), batch[1]).backward()
    other.step()
    count += 1
""",
    "accumulation": """
for number, (x, y) in enumerate(loader):
    nn.functional.cross_entropy(model(x), y).backward()
    if number % 3 == 2:
        optimizer.step()
        optimizer.zero_grad()
        count += 1
""",
    "lbfgs": """
optimizer = torch.optim.LBFGS(model.parameters(), 0.1, max_iter=3)
for x, y in loader:
    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss
    optimizer.step(closure)
    count += 1
""",
    "scaler": """
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
for x, y in loader:
    optimizer.zero_grad()
    scaler.scale(10 * nn.functional.cross_entropy(model(x), y)).backward()
    scaler.step(optimizer)
    scaler.update()
    count += 1
""",
    "without loader": """
for _ in range(30):
    step((torch.randn(4, 8), torch.zeros(4, dtype=torch.long)))
    count += 1
""",
    "one batch": """
batch = next(iter(loader))
for _ in range(30):
    step(batch)
    count += 1
""",
    "no optimizer": """
for _ in range(8):
    for x, y in loader:
        model.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.1 * parameter.grad
        count += 1
""",
    "validation": """
val = DataLoader(Data(8), batch_size=4)
for epoch in range(3):
    for number, batch in enumerate(loader):
        step(batch)
        count += 1
        if number == 5:
            with torch.no_grad():
                for x, y in val:
                    model(x)
    for x, y in val:
        model(x)
""",
    "compiled": """
torch._dynamo.config.suppress_errors = False
model = torch.compile(model, backend="eager")
for batch in loader:
    step(batch)
    count += 1
""",
    "compiled step": """
compiled = torch.compile(optimizer.step, backend="eager")
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    compiled()
    count += 1
""",
    "prefetch thread": """
import queue, threading
batches = queue.Queue(2)
def fill():
    for batch in loader:
        batches.put(batch)
    batches.put(None)
threading.Thread(target=fill, daemon=True).start()
while (batch := batches.get()) is not None:
    step(batch)
    count += 1
""",
    "explicit": """
from perftui.trainer import watch
w = watch()
for number, batch in enumerate(loader):
    step(batch)
    if number % 2:
        w.step(samples=8)
        count += 1
""",
}


FORK_EACH = """
import os
for number, code in enumerate(LOOPS):
    if os.fork() == 0:
        os.environ["RANK"] = str(number)
        exec(code)
        print(os.environ['RANK'], count)
        sys.exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def loops(module_hub: "Hub") -> "Outcome":
    """Each loop in a child of one process, as a rank of its own: torch is imported once."""
    head = "loader = DataLoader(Data(), batch_size=4)\ncount = 0\n"
    codes = [head + code for code in LOOPS.values()]
    return module_hub.train(PREAMBLE + f"LOOPS = {codes!r}\n" + FORK_EACH)


@pytest.mark.parametrize("loop", LOOPS)
def test_counts_equal_the_scripts_own(loops: "Outcome", loop: str) -> None:
    assert "perftui" not in loops.stderr
    assert "Traceback" not in loops.stderr
    rank = list(LOOPS).index(loop)
    counts = dict(line.split() for line in loops.stdout.splitlines())
    assert loops.steps(rank) == int(counts[str(rank)])
    assert partitions(loops, rank)
    assert [goodbye.errors for goodbye in loops.of(Goodbye, rank)] == [0]
    assert not [event for event in loops.of(RankEvent, rank) if event.event == "probe_error"]


def flags_of(loops: "Outcome", loop: str) -> list[int]:
    flags: list[int] = loops.column("flags", list(LOOPS).index(loop))
    return flags


def test_marks_of_the_loops(loops: "Outcome") -> None:
    compiled = flags_of(loops, "compiled")
    assert compiled[0] & FLAG_COMPILING
    assert not compiled[-1] & FLAG_COMPILING
    assert all(flag & FLAG_EXPLICIT_BOUNDARY for flag in flags_of(loops, "explicit"))
    assert loops.column("samples", list(LOOPS).index("explicit")) == [8] * 6
    assert all(flag & FLAG_WAIT_UNKNOWN for flag in flags_of(loops, "without loader"))
    assert all(flag & FLAG_WAIT_UNKNOWN for flag in flags_of(loops, "prefetch thread"))
    assert flags_of(loops, "scaler")[0] & FLAG_FAILED
    assert not flags_of(loops, "scaler")[-1] & FLAG_FAILED
    events = loops.of(RankEvent, list(LOOPS).index("validation"))
    assert [event.text for event in events if event.event == "validation"] == ["2 batches"] * 6
