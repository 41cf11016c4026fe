"""Watch histograms of every weight, in the training loop and on rank 0 only; rank 1 waits for it.

R248: https://github.com/wandb/wandb/issues/7423
"""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(12800, 256), torch.randint(10, (12800,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=64, sampler=sampler)
net = torch.nn.Sequential(
    torch.nn.Linear(256, 512),
    torch.nn.ReLU(),
    torch.nn.Linear(512, 512),
    torch.nn.ReLU(),
    torch.nn.Linear(512, 10),
)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
watched = {}
step = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for inputs, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        if dist.get_rank() == 0:
            for name, weight in net.named_parameters():
                values = sorted(weight.detach().flatten().tolist()[::4])
                watched[name] = [values[len(values) * part // 20] for part in range(20)]
        step += 1
        if step % 20 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
