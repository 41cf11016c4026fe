"""Two gloo ranks, of which rank 1 has a slow dataset; prints what each spends its steps on as JSON."""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

_STEPS = 25


class _Items(Dataset[torch.Tensor]):
    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s

    def __len__(self) -> int:
        return 8 * (_STEPS + 1)

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self._pause_s)
        return torch.full((32,), float(index))


def _train(rank: int, with_buffers: bool) -> dict[str, float]:
    layers: list[torch.nn.Module] = [torch.nn.Linear(32, 32)]
    if with_buffers:
        layers.append(torch.nn.BatchNorm1d(32))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), 1e-9)
    batches = iter(DataLoader(_Items(0.004 if rank == 1 else 0.0), batch_size=8))
    spent = dict.fromkeys(("loader_wait", "forward", "backward", "optimizer"), 0.0)
    model(next(batches)).mean().backward()
    dist.barrier()
    began = time.perf_counter()
    for _ in range(_STEPS):
        marks = [time.perf_counter()]
        batch = next(batches)
        marks.append(time.perf_counter())
        loss = model(batch).mean()
        marks.append(time.perf_counter())
        loss.backward()
        marks.append(time.perf_counter())
        optimizer.step()  # pyright: ignore[reportUnknownMemberType]
        marks.append(time.perf_counter())
        for place, name in enumerate(spent):
            spent[name] += marks[place + 1] - marks[place]
    wall = time.perf_counter() - began
    return {"step_ms": wall / _STEPS * 1e3, **{name: seconds / wall for name, seconds in spent.items()}}


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    measured = {
        "plain": _train(rank, with_buffers=False),
        "buffers": _train(rank, with_buffers=True),
    }
    (Path(sys.argv[1]) / f"{rank}.json").write_text(json.dumps(measured))
    dist.barrier()  # gloo aborts a rank whose peer leaves in the middle of an exchange
    os._exit(
        0
    )  # and now and then one that takes its group down: "terminate called without an active exception"


if __name__ == "__main__":
    main()
