"""A training over gloo whose losses follow from its seed; writes them to `losses.RANK`. `STEPS FOLDER`"""

import os
import socket
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

_PAUSE_S = 0.03


def main() -> None:
    steps, folder = int(sys.argv[1]), Path(sys.argv[2])
    workers = int(os.environ.get("WORKERS", "0"))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    (folder / f"host.{rank}").write_text(socket.gethostname())
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(512, 16), torch.randn(512, 1))
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    sampler: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(data, seed=1)
    loader = DataLoader(
        data, batch_size=8, sampler=sampler, num_workers=workers, persistent_workers=workers > 0
    )
    losses: list[float] = []
    while len(losses) < steps:
        for inputs, targets in loader:
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()  # pyright: ignore[reportUnknownMemberType]
            losses.append(loss.item())
            if len(losses) == steps // 2:
                _fail_once(rank)
            time.sleep(_PAUSE_S)
            if len(losses) == steps:
                break
    (folder / f"losses.{rank}").write_text("\n".join(map(repr, losses)))
    dist.barrier()  # gloo aborts a rank whose peer leaves in the middle of an exchange
    dist.destroy_process_group()


def _fail_once(rank: int) -> None:
    told = os.environ.get("FAIL_ONCE")
    if told and rank == 0 and not Path(told).exists():
        time.sleep(0.5)  # what was done has been told by then
        Path(told).touch()
        os._exit(3)


if __name__ == "__main__":
    main()
