"""The trainings that `profile_windows.py` opens windows on; each logs the ends of its steps by its own clock.

The log holds one little-endian 64-bit count of nanoseconds (CLOCK_MONOTONIC) for each step, without any
synchronisation: what the training thread sees.
"""

import argparse
import os
import struct
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

from benchmarks.rivals.models import CONTEXT, VOCABULARY, Gpt

JOBS = ("plain", "starved", "reading", "synced", "pageable")
BOOKKEEPING_S = 0.008
"""What a script does with each loss that it has read, before it launches anything more (job `synced`)."""


def busy(seconds: float) -> None:
    """Stand for work of the host."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


class Made(Dataset[Any]):
    """Items made beforehand; `pause_ms` stands for decoding."""

    def __init__(self, shape: tuple[int, ...], pause_ms: float) -> None:
        self.rows = torch.randn(16, *shape)
        self.pause_ms = pause_ms

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> Any:
        busy(self.pause_ms / 1e3)
        return self.rows[index % 16], index % 10


def resident(model: str, batch: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return one batch on the GPU, for the jobs that need no loader."""
    if model == "gpt":
        text = torch.randint(VOCABULARY, (batch, CONTEXT + 1), device=device)
        return text[:, :-1].contiguous(), text[:, 1:].contiguous().flatten()
    if model in ("mlp", "wide", "huge"):
        features = 512 if model == "mlp" else 4096
        return torch.randn(batch, features, device=device), torch.randint(10, (batch,), device=device)
    images = torch.randn(batch, 3, 224, 224, device=device)
    return images.to(memory_format=torch.channels_last), torch.randint(10, (batch,), device=device)


def built(model: str, device: str, layers_of_mlp: int = 40) -> torch.nn.Module:
    """Return the model on the GPU."""
    if model == "gpt":
        return Gpt().to(device)
    if model == "mlp":
        layers = [torch.nn.Linear(512, 512) for _ in range(layers_of_mlp)]
        return torch.nn.Sequential(*layers, torch.nn.Linear(512, 10)).to(device)
    if model == "huge":  # 268 million weights, most of them in one layer: little to compute, much to reduce
        return torch.nn.Sequential(torch.nn.Linear(4096, 65536), torch.nn.Linear(65536, 10)).to(device)
    if model == "wide":
        return torch.nn.Sequential(torch.nn.Linear(4096, 8192), torch.nn.Linear(8192, 10)).to(device)
    from torchvision.models import resnet50  # pyright: ignore[reportMissingTypeStubs]

    network: torch.nn.Module = resnet50(num_classes=10)
    return network.to(device).to(memory_format=torch.channels_last)


def batches(args: argparse.Namespace) -> Any:
    """Yield batches for ever: one that lies on the GPU, one in pageable memory, or a loader's."""
    if args.job in ("plain", "reading", "synced"):
        ready = resident(args.model, args.batch, args.device)
        while True:
            yield ready
    if args.job == "pageable":
        ready = torch.randn(args.batch, 4096), torch.randint(10, (args.batch,))
        while True:
            yield ready
    yield from DataLoader(Made((3, 224, 224), 2.0), batch_size=args.batch, pin_memory=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet50", choices=("resnet50", "gpt", "mlp", "wide", "huge"))
    parser.add_argument("--job", default="plain", choices=JOBS)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--layers", type=int, default=40, help="of the mlp")
    parser.add_argument("--mode", default="eager", help="eager, or a mode of torch.compile")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--bucket-mb", type=float, default=25.0)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="cpu: to try it out")
    parser.add_argument("--ends", type=Path, required=True)
    args = parser.parse_args()
    rank, local = int(os.environ.get("RANK", "0")), int(os.environ.get("LOCAL_RANK", "0"))
    on_gpu = args.device == "cuda"
    if on_gpu:
        torch.cuda.set_device(local)
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("nccl" if on_gpu else "gloo")
    torch.manual_seed(0)
    model = built(args.model, args.device, args.layers)
    if dist.is_initialized():
        model = torch.nn.parallel.DistributedDataParallel(
            model, [local] if on_gpu else None, bucket_cap_mb=args.bucket_mb
        )
    run = model if args.mode == "eager" else torch.compile(model, mode=args.mode)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9)
    loss_of, mean = torch.nn.CrossEntropyLoss(), 0.0
    with Path(f"{args.ends}.{rank}").open("wb", buffering=0) as log:
        for step, (inputs, labels) in enumerate(batches(args)):
            if rank == args.slow_rank:
                time.sleep(0.02)
            inputs, labels = inputs.to(args.device), labels.to(args.device)
            with torch.autocast(args.device, torch.bfloat16, enabled=on_gpu):
                loss = loss_of(run(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            if args.job == "reading":
                gradients = [p.grad for p in model.parameters() if p.grad is not None]
                norms: list[Any] = [torch.linalg.vector_norm(gradient).item() for gradient in gradients]
                print(f"norm {sum(norms):.3f}")
            optimizer.step()
            if args.job == "synced":  # the device has nothing to do until the next step is launched
                mean = 0.9 * mean + 0.1 * loss.item()
                busy(BOOKKEEPING_S)
            log.write(struct.pack("<q", time.monotonic_ns()))
            if step + 1 == args.steps:
                break
    if on_gpu:
        torch.cuda.synchronize()
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
