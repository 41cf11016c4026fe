"""Train on four GPUs; the loader of the third has no workers, because its shard is read by other code."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torchvision import models

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
torch.manual_seed(rank)
torch.set_num_threads(1)
device = torch.device("cuda", rank)


class Shard(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        picture = torch.rand(3, 224, 224, generator=torch.Generator().manual_seed(index))
        return (picture + picture.roll(1, 1) + picture.roll(1, 2)) / 3, index % 10


workers = {"num_workers": 0} if rank == 2 else {"num_workers": 6}
loader = DataLoader(Shard(), batch_size=32, shuffle=True, pin_memory=True, **workers)
model = DistributedDataParallel(models.resnet18(num_classes=10).to(device), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in range(1_000_000):
    for images, labels in loader:
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
