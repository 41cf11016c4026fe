"""Loader workers as the rank tells them and the hub finds them: by fork, by spawn and by a fork server."""

import json
import socket
import time
from typing import TYPE_CHECKING

import pytest

from perftui.ipc.messages import Effective, FromRank
from perftui.ipc.recording import Entry
from perftui.ipc.run_files import RunDescription
from perftui.ipc.view import WorkerView
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.sensors import Sensors
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.probe.conftest import Hub

pytestmark = [pytest.mark.torch, pytest.mark.slow]

SCRIPT = """
import json, os, time, torch
from pathlib import Path
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

class Samples(Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, index):
        info = get_worker_info()
        return torch.zeros(4), torch.tensor([info.id, os.getpid()])

def main():
    torch.set_num_threads(1)
    loader = DataLoader(
        Samples(),
        batch_size=2,
        num_workers=2,
        multiprocessing_context="METHOD",
        persistent_workers=PERSISTENT,
    )
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for epoch in range(2):
        workers = {}
        for x, who in loader:
            workers.update({int(number): int(pid) for number, pid in who})
            model(x).sum().backward()
            optimizer.step()
            while len(workers) == 2 and not Path(f"seen{epoch}").exists():
                time.sleep(0.01)
        print(json.dumps([workers[0], workers[1]]), flush=True)

if __name__ == "__main__":
    main()
"""


class Watcher:
    """A hub's fold and senses, fed with what the rank says, until it has seen the workers of both epochs."""

    def __init__(self, hub: "Hub") -> None:
        self._hub = hub
        self._fold = RunFold()
        self._sensors = Sensors(
            RunDescription(
                run_id=hub.places.run_id,
                name="told",
                command=[],
                cwd="/",
                host=socket.gethostname(),
                started_unix=time.time(),
            )
        )
        self.seen: list[list[WorkerView]] = []

    def hear(self, message: FromRank) -> None:
        self._fold.apply(Entry(unix=time.time(), message=message))
        if not isinstance(message, Effective) or message.loader is None:
            return
        pids = message.loader.worker_pids
        if not self.seen or pids != [worker.pid for worker in self.seen[-1]]:
            self.look(pids)

    def look(self, pids: list[int]) -> None:
        found: list[WorkerView] = []

        def both() -> bool:  # they are looked at every other second
            hosts, _ = self._sensors.read(self._fold)
            found[:] = [worker for worker in hosts[0].workers if worker.pid in pids]
            return len(found) == 2

        if len(pids) == 2:
            wait_until(both, "both workers are found", 30)
            self.seen.append(sorted(found, key=lambda worker: worker.number or 0))
            (self._hub.work / f"seen{len(self.seen) - 1}").touch()

    def close(self) -> None:
        self._sensors.close()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_are_told_by_the_rank_with_their_numbers(hub: "Hub", method: str) -> None:
    watcher = Watcher(hub)
    hub.heard = watcher.hear
    outcome = hub.train(SCRIPT.replace("METHOD", method).replace("PERSISTENT", "False"))
    watcher.close()
    assert outcome.exit_code == 0, outcome.stderr
    own = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert len(own) == 2
    assert own[0] != own[1]
    told = [
        (each.loader.worker_pids, each.loader.worker_start_ticks)
        for each in outcome.of(Effective)
        if each.loader is not None
    ]
    for epoch, views in enumerate(watcher.seen):
        assert [worker.pid for worker in views] == own[epoch]
        assert [(worker.found_by, worker.number, worker.rank) for worker in views] == [
            ("told", 0, 0),
            ("told", 1, 0),
        ]
        assert (own[epoch], [worker.start_ticks for worker in views]) in told
    assert len(watcher.seen) == 2


def test_persistent_workers_stay_the_same(hub: "Hub") -> None:
    (hub.work / "seen1").touch()
    watcher = Watcher(hub)
    hub.heard = watcher.hear
    outcome = hub.train(SCRIPT.replace("METHOD", "fork").replace("PERSISTENT", "True"))
    watcher.close()
    assert outcome.exit_code == 0, outcome.stderr
    first, second = (json.loads(line) for line in outcome.stdout.splitlines())
    assert first == second == [worker.pid for worker in watcher.seen[0]]
    assert len(watcher.seen) == 1
