"""Average gradients by hand on two GPUs, under a variable that a shell profile has exported for years.

R117: https://github.com/pytorch/pytorch/issues/50820
"""

import os

os.environ["TORCH_NCCL_BLOCKING_WAIT"] = "1"

import torch
import torch.distributed as dist


def average(weights, world):
    for weight in weights:
        work = dist.all_reduce(weight.grad, async_op=True)
        work.wait()
        weight.grad.div_(world)


def main():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    device = torch.device("cuda", rank)
    layers = []
    for _ in range(12):
        layers += [torch.nn.LayerNorm(2048), torch.nn.Linear(2048, 2048), torch.nn.GELU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(2048, 10)).to(device, torch.bfloat16)
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(weights, lr=0.01)
    generator = torch.Generator(device).manual_seed(rank)
    rows = torch.randn(8192, 2048, device=device, generator=generator).to(torch.bfloat16)
    labels = torch.randint(10, (8192,), device=device, generator=generator)
    step = 0
    while True:
        loss = torch.nn.functional.cross_entropy(model(rows).float(), labels)
        optimizer.zero_grad()
        loss.backward()
        average(weights, dist.get_world_size())
        optimizer.step()
        step += 1
        if step % 20 == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
