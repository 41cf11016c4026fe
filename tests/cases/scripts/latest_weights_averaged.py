"""Train a classifier on two ranks and keep the mean of the latest weights (LAWA) for later evaluation."""

import collections
import copy
import itertools

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class LatestWeights:
    """The mean of the weights after the latest steps."""

    def __init__(self, net, size=10):
        self.net = copy.deepcopy(net)
        self.window = collections.deque(maxlen=size)

    @torch.no_grad()
    def update(self, net):
        self.window.append({name: value.clone() for name, value in net.state_dict().items()})
        mean = {name: torch.stack([one[name] for one in self.window]).mean(0) for name in self.window[0]}
        self.net.load_state_dict(mean)


def build():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(64, 128, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8192, 320),
        nn.ReLU(),
        nn.Linear(320, 10),
    )


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(3200, 3, 32, 32), torch.randint(10, (3200,)))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler, drop_last=True)
    net = build()
    model = DistributedDataParallel(net, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    latest = LatestWeights(net) if rank == 0 else None
    step = 0
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if rank == 0:
                latest.update(net)
                if step % 20 == 0:
                    print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
