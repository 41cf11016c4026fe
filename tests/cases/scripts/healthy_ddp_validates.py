"""Train on two ranks and validate on both every 100 steps, each on its part: nothing is wrong with it."""

import itertools

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def parts(count, shuffle):
    data = TensorDataset(torch.randn(count, 3, 32, 32), torch.randint(10, (count,)))
    sampler = DistributedSampler(data, shuffle=shuffle)
    return DataLoader(data, batch_size=32, sampler=sampler, drop_last=shuffle), sampler


@torch.no_grad()
def validate(net, loader):
    net.eval()
    counts = torch.zeros(2)
    for images, labels in loader:
        counts += torch.tensor([(net(images).argmax(1) == labels).sum().item(), len(labels)])
    dist.all_reduce(counts)
    net.train()
    return (counts[0] / counts[1]).item()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    train, sampler = parts(6400, shuffle=True)
    held_out, _ = parts(256, shuffle=False)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 64, 3, stride=2, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(64, 64, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(256, 10),
    )
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    step = 0
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        for images, labels in train:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0 and dist.get_rank() == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)
            if step % 100 == 0:
                accuracy = validate(net, held_out)
                if dist.get_rank() == 0:
                    print(f"accuracy {accuracy:.3f}", flush=True)


main()
