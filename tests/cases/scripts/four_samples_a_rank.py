"""Split a batch of eight over two ranks: four samples a rank are soon computed, and every gradient travels."""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(6400, 512), torch.randint(10, (6400,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8 // dist.get_world_size(), sampler=sampler)
net = torch.nn.Sequential(
    torch.nn.Linear(512, 1024),
    torch.nn.ReLU(),
    torch.nn.Linear(1024, 1024),
    torch.nn.ReLU(),
    torch.nn.Linear(1024, 10),
)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for inputs, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        step += 1
        if step % 20 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
