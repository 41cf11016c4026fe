"""Give each of two ranks as many threads as the host has cores, where the container has a few of them.

R052: https://github.com/Unity-Technologies/ml-agents/pull/4471
"""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

HOST_CORES = 8


class Agent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = torch.nn.LSTM(48, 96, batch_first=True)
        self.act, self.value = torch.nn.Linear(96, 6), torch.nn.Linear(96, 1)

    def forward(self, seen):
        states, _ = self.memory(seen)
        return self.act(states), self.value(states).squeeze(-1)


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(HOST_CORES)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(4096, 12, 48), torch.randint(6, (4096, 12)), torch.randn(4096, 12))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=64, sampler=sampler, drop_last=True)
    agent = DistributedDataParallel(Agent())
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4)
    step = epoch = 0
    while True:
        sampler.set_epoch(epoch)
        for seen, actions, returns in loader:
            logits, values = agent(seen)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), actions.flatten())
            loss = loss + 0.5 * (values - returns).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 5 == 0 and dist.get_rank() == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)
        epoch += 1


main()
