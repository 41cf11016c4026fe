"""The loop that `device_phases.py` compares: trains on a GPU and traces a few of its steps by itself."""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.autograd.profiler import record_function
from torch.utils.data import DataLoader, Dataset

WARM_STEPS = 40


class Made(Dataset[Any]):
    """Inputs made on the spot; `pause_ms` stands for a slow disk."""

    def __init__(self, shape: tuple[int, ...], items: int, pause_ms: float) -> None:
        self.rows = torch.randn(64, *shape)
        self.items = items
        self.pause_ms = pause_ms

    def __len__(self) -> int:
        return self.items

    def __getitem__(self, index: int) -> Any:
        if self.pause_ms:
            time.sleep(self.pause_ms / 1e3)
        return self.rows[index % 64], index % 10


class Block(torch.nn.Module):
    """One transformer block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(width, 12, batch_first=True)
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)])
        self.inner = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norms[0](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        result: torch.Tensor = x + self.inner(self.norms[1](x))
        return result


def workload(name: str) -> tuple[torch.nn.Module, tuple[int, ...], int]:
    """Return model, shape of an item and batch size."""
    if name == "resnet":
        from torchvision.models import resnet50  # pyright: ignore[reportMissingTypeStubs]

        return resnet50(num_classes=10), (3, 224, 224), 128
    if name == "gpt":
        blocks = [Block(768) for _ in range(12)]
        return (
            torch.nn.Sequential(*blocks, torch.nn.Flatten(), torch.nn.Linear(768 * 256, 10)),
            (256, 768),
            16,
        )
    layers: list[torch.nn.Module] = [torch.nn.Linear(256, 256) for _ in range(6)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)), (256,), 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="resnet")
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--trace-steps", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-ms", type=float, default=20.0)
    args = parser.parse_args()
    rank, local = int(os.environ.get("RANK", "0")), int(os.environ.get("LOCAL_RANK", "0"))
    torch.cuda.set_device(local)
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("nccl")
    torch.manual_seed(0)
    plain, shape, batch_size = workload(args.workload)
    model: torch.nn.Module = plain.cuda()
    if dist.is_initialized():
        model = torch.nn.parallel.DistributedDataParallel(model, [local], gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    loss_of = torch.nn.CrossEntropyLoss()
    pause_ms = args.slow_ms / batch_size if rank == args.slow_rank else 0.0
    data = Made(shape, batch_size * args.steps, pause_ms)
    loader = DataLoader(data, batch_size=batch_size, pin_memory=True, num_workers=0)
    profiler = torch.profiler.profile(with_stack=False)
    first = WARM_STEPS
    for step, (images, labels) in enumerate(loader):
        if step == first and args.trace:
            torch.cuda.synchronize()
            profiler.start()
        with record_function("phase:h2d"):
            images = images.to("cuda", non_blocking=True)
        with record_function("phase:h2d"):
            labels = labels.to("cuda", non_blocking=True)
        with record_function("phase:forward"), torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(model(images), labels)
        with record_function("phase:backward"):
            loss.backward()
        with record_function("phase:optimizer"):
            optimizer.step()
        optimizer.zero_grad()
        if step == first + args.trace_steps and args.trace:
            torch.cuda.synchronize()
            profiler.stop()
            profiler.export_chrome_trace(f"{args.trace}.{rank}.json")
    torch.cuda.synchronize()
    print(json.dumps({"rank": rank, "first": first, "steps": args.trace_steps}), flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
