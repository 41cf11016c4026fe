"""Set find_unused_parameters although every parameter is used: the graph of many small layers is searched each step.

R131: https://github.com/m2lines/Samudra/issues/630
"""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)


class Ladder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gains = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(8)) for _ in range(200))

    def forward(self, inputs):
        for gain in self.gains:
            inputs = inputs * gain
        return inputs


data = TensorDataset(torch.randn(6400, 8), torch.randn(6400, 8))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=64, sampler=sampler)
model = DistributedDataParallel(Ladder(), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001, foreach=True)
step = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        step += 1
        if step % 20 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
