"""Train a transformer in bf16 on two GPUs with NCCL: nothing is wrong with it."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
device = torch.device("cuda", rank)
layers = [torch.nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True) for _ in range(8)]
model = DistributedDataParallel(torch.nn.Sequential(*layers).to(device), device_ids=[rank])
inputs = torch.randn(64, 512, 1024, device=device, generator=torch.Generator(device).manual_seed(rank))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
step = 0
while True:
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(inputs).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 10 == 0 and rank == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
