"""The probe in real trainings, seen from the hub's end of the socket."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import (
    FLAG_EPOCH_START,
    FLAG_WAIT_UNKNOWN,
    Effective,
    Goodbye,
    Hello,
    LossSample,
    RankEvent,
)
from tests.probe.training_scripts import PREAMBLE, partitions

if TYPE_CHECKING:
    from tests.probe.conftest import Hub, Outcome

pytestmark = [pytest.mark.torch, pytest.mark.slow]


PLAIN = (
    PREAMBLE
    + """
loader = DataLoader(Data(sleep=0.002), batch_size=4)
count = 0
for epoch in range(2):
    for batch in loader:
        loss = step(batch)
        count += 1
print(count, float(loss))
sys.exit(3)
"""
)


@pytest.fixture(scope="module")
def plain(module_hub: "Hub") -> "Outcome":
    return module_hub.train(PLAIN)


def test_plain_training(plain: "Outcome") -> None:
    outcome = plain
    assert outcome.exit_code == 3
    assert outcome.stderr == ""
    assert outcome.steps() == int(outcome.stdout.split()[0]) == 24
    assert partitions(outcome)
    assert all(wait >= 4 * 2_000_000 for wait in outcome.column("wait_ns"))
    assert outcome.column("samples") == [4] * 24
    assert outcome.column("epoch") == [0] * 12 + [1] * 12
    assert [flags & FLAG_EPOCH_START for flags in outcome.column("flags")].count(FLAG_EPOCH_START) == 2
    assert [sample.step for sample in outcome.of(LossSample)] == [0, 10, 20]
    assert outcome.of(Goodbye)[0].errors == 0
    assert [event.text for event in outcome.of(RankEvent) if event.event == "epoch"] == ["epoch 1"]
    assert [message.seq for message in outcome.messages] == list(range(len(outcome.messages)))


def test_losses_and_output_are_the_same_without_us(hub: "Hub") -> None:
    script = (
        PREAMBLE
        + """
loader = DataLoader(Data(), batch_size=4, shuffle=True, num_workers=2)
for epoch in range(2):
    for batch in loader:
        print(repr(float(step(batch))))
"""
    )
    outcome = hub.train(script)
    assert outcome.steps() == 24
    bare = hub.train(script, PERFTUI_OFF="1")
    assert bare.messages == []
    assert (outcome.stdout, outcome.stderr, outcome.exit_code) == (bare.stdout, bare.stderr, bare.exit_code)


def test_hello_and_effective_tell_what_is_in_force(plain: "Outcome") -> None:
    outcome = plain
    hello = outcome.of(Hello)[0]
    assert outcome.messages[0] == hello
    assert not hello.rank_known
    assert (hello.rank, hello.world_size, hello.trial) == (0, 1, False)
    assert hello.command[-1].endswith("train.py")
    effective = outcome.of(Effective)[-1]
    assert effective.device == "cpu"
    assert effective.gpu_uuid is None
    assert effective.settings["loader.num_workers"] == 0
    assert effective.settings["torch.num_threads"] == 1
    assert effective.loader is not None
    assert (effective.loader.batch_size, effective.loader.batches_per_epoch) == (4, 12)
    assert (effective.loader.dataset, effective.loader.iterable) == ("Data", False)
    assert effective.read_ahead is None


def test_a_loader_that_a_thread_reads_ahead_is_told_apart(hub: "Hub") -> None:
    outcome = hub.train(
        PREAMBLE
        + """
import queue, threading
ready = queue.Queue(maxsize=2)

def fill():
    for batch in DataLoader(Data(sleep=0.01), batch_size=4):
        ready.put(batch)
    ready.put(None)

threading.Thread(target=fill, daemon=True).start()
while (batch := ready.get()) is not None:
    step(batch)
"""
    )
    effective = outcome.of(Effective)[-1]
    assert effective.loader is None
    assert effective.read_ahead is not None
    assert (effective.read_ahead.num_workers, effective.read_ahead.batches_per_epoch) == (0, 12)
    assert effective.settings["loader.num_workers"] == 0


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_stay_silent_and_settings_are_applied(hub: "Hub", context: str) -> None:
    hub.apply(
        settings={
            "loader.num_workers": 2,
            "loader.persistent_workers": True,
            "loader.prefetch_factor": 3,
            "loader.multiprocessing_context": context,
            "loader[4].num_workers": 1,
        }
    )
    script = PREAMBLE.replace("model = nn.Linear", "if __name__ != '__main__': sys.exit\nmodel = nn.Linear")
    outcome = hub.train(
        script
        + """
if __name__ == "__main__":
    loader = DataLoader(Data(), batch_size=4)
    count = 0
    for epoch in range(2):
        for batch in loader:
            step(batch)
            count += 1
    print(count, loader.num_workers, loader.persistent_workers, loader.prefetch_factor)
"""
    )
    assert outcome.stdout.split() == ["24", "2", "True", "3"]
    assert outcome.steps() == 24
    assert len(outcome.of(Hello)) == 1
    assert len(outcome.of(Goodbye)) == 1
    effective = outcome.of(Effective)[-1]
    assert effective.settings["loader.num_workers"] == 2
    assert effective.settings["loader.multiprocessing_context"] == context
    assert effective.failed == {"loader[4].num_workers": "the script built 1 DataLoader"}
    assert outcome.column("epoch") == [0] * 12 + [1] * 12


def test_settings_that_cannot_be_applied(hub: "Hub") -> None:
    hub.apply(settings={"loader.num_workers": 2, "loader[1].num_workers": 0, "loader[1].prefetch_factor": 4})
    outcome = hub.train(
        PREAMBLE
        + """
class Stream(IterableDataset):
    def __iter__(self):
        return iter([(torch.zeros(8), 0)] * 24)

train = DataLoader(Stream(), batch_size=4)
val = DataLoader(Data(), 4, num_workers=2, prefetch_factor=2, persistent_workers=True, timeout=5)
for batch in train:
    step(batch)
with torch.no_grad():
    for batch in val:
        pass
print(train.num_workers, val.num_workers, val.persistent_workers)
"""
    )
    assert outcome.stdout.split() == ["0", "0", "False"]
    failed = outcome.of(Effective)[-1].failed
    assert "IterableDataset" in failed["loader.num_workers"]
    assert "needs worker processes" in failed["loader[1].prefetch_factor"]
    assert outcome.steps() == 6
    validation = [event for event in outcome.of(RankEvent) if event.event == "validation"]
    assert [event.text for event in validation] == ["12 batches"]


DISTRIBUTED = (
    PREAMBLE
    + """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler
dist.init_process_group("gloo")
model = DistributedDataParallel(model)
data = Data()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
for epoch in range(2):
    for batch in loader:
        step(batch)
dist.destroy_process_group()
"""
)


def test_two_ranks_under_torchrun(hub: "Hub") -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    outcome = hub.train(DISTRIBUTED, launcher=torchrun)
    assert outcome.exit_code == 0
    assert {message.rank for message in outcome.messages} == {0, 1}
    for rank in (0, 1):
        hello = outcome.of(Hello, rank)
        assert [(one.world_size, one.local_rank, one.rank_known) for one in hello] == [(2, rank, True)]
        assert outcome.steps(rank) == 12
        assert len(outcome.of(Goodbye, rank)) == 1


def test_ranks_spawned_by_the_script(hub: "Hub") -> None:
    outcome = hub.train(
        PREAMBLE
        + """
import os
import torch.distributed as dist
import torch.multiprocessing as mp

def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    for batch in DataLoader(Data(), batch_size=4):
        step(batch)
    dist.destroy_process_group()

if __name__ == "__main__":
    import socket
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    mp.start_processes(train, (port,), nprocs=2, start_method="spawn")
"""
    )
    assert outcome.stderr == ""
    assert outcome.exit_code == 0
    assert {message.rank for message in outcome.messages} == {0, 1}
    for rank in (0, 1):
        assert outcome.steps(rank) == 12
        assert len(outcome.of(Goodbye, rank)) == 1


def test_a_broken_hook_leaves_the_training_alone(hub: "Hub") -> None:
    poison = """
from perftui.trainer.probe import install
recorder = install._installed[0].recorder
def broken(*_):
    raise RuntimeError("poison")
recorder.clock.fetch_end = broken
recorder.clock.backward_end = broken
recorder.loss.sample = broken
"""
    outcome = hub.train(PREAMBLE + poison + PLAIN.removeprefix(PREAMBLE))
    assert outcome.exit_code == 3
    assert outcome.stderr == ""
    assert outcome.stdout.startswith("24 ")
    reports = [event.text for event in outcome.of(RankEvent) if event.event == "probe_error"]
    assert any("poison" in text for text in reports)
    assert any(text.endswith("this hook is off now") for text in reports)
    assert outcome.of(Goodbye)[0].errors >= 5


def test_batches_that_do_not_let_themselves_be_read_cost_the_samples_alone(hub: "Hub") -> None:
    odd = """
class Odd:
    def __init__(self, batch):
        self.batch = batch
    def __getattr__(self, name):
        raise RuntimeError(f"no {name} here")

def collate(rows):
    return Odd(torch.utils.data.default_collate(rows))

count = 0
for odd in DataLoader(Data(48), batch_size=4, collate_fn=collate):
    step(odd.batch)
    count += 1
print(count)
"""
    outcome = hub.train(PREAMBLE + odd)
    assert outcome.exit_code == 0
    assert outcome.stdout == "12\n"
    assert outcome.steps() == 12
    assert not any(flags & FLAG_WAIT_UNKNOWN for flags in outcome.column("flags"))
    assert set(outcome.column("samples")) == {-1}


def test_checkpoints_are_timed_and_an_exception_is_named(hub: "Hub") -> None:
    loop = (
        "\nfor batch in DataLoader(Data(8), 4):\n    step(batch)\n    torch.save(model, 'last.pt')\n{}['x']\n"
    )
    outcome = hub.train(PREAMBLE + loop)
    assert outcome.exit_code == 1
    assert "KeyError: 'x'" in outcome.stderr
    assert outcome.of(Goodbye)[0].reason == "exception KeyError"
    assert outcome.steps() == 2
    saves = [event for event in outcome.of(RankEvent) if event.event == "checkpoint"]
    assert [save.text for save in saves] == ["last.pt"] * 2
    assert all(save.duration_ns > 0 for save in saves)


def test_nothing_is_said_by_a_process_that_does_not_train(hub: "Hub") -> None:
    outcome = hub.train(
        PREAMBLE + "\nfor batch in DataLoader(Data(), 4, num_workers=1):\n    model(batch[0])\n"
    )
    assert outcome.exit_code == 0
    assert outcome.messages == []


def test_a_sitecustomize_of_the_users_still_runs(hub: "Hub", tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.mine = 41\n")
    environment = hub.environment()
    environment["PYTHONPATH"] += f":{tmp_path}"
    code = "import sys; print(mine, sys.modules['sitecustomize'].__file__, 'torch' in sys.modules)"
    outcome = hub.run([sys.executable, "-c", code], environment)
    assert outcome.stdout.split() == ["41", str(tmp_path / "sitecustomize.py"), "False"]
    assert outcome.stderr == ""
