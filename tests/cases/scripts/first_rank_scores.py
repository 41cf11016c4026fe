"""Work out the average precision of every class after each batch, on the first rank only, for its log."""

import collections
import itertools

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CLASSES = 60


class Precision:
    def __init__(self, keep):
        self.scores, self.truths = collections.deque(maxlen=keep), collections.deque(maxlen=keep)

    def update(self, logits, labels):
        self.scores.append(logits.detach().numpy().copy())
        self.truths.append(labels.numpy())

    def value(self):
        scores, truths = np.concatenate(self.scores), np.concatenate(self.truths)
        each = []
        for number in range(CLASSES):
            order = np.argsort(-scores[:, number])
            hits = (truths[order] == number).cumsum()
            precision = hits / np.arange(1, len(hits) + 1)
            each.append(np.maximum.accumulate(precision[::-1])[::-1].mean())
        return float(np.mean(each))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    first = dist.get_rank() == 0
    data = TensorDataset(torch.randn(9600, 3, 24, 24), torch.randint(CLASSES, (9600,)))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=48, sampler=sampler)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(800, CLASSES),
    )
    model = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    precision, step, latest = Precision(keep=160), 0, 0.0
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        for images, labels in loader:
            logits = model(images)
            loss = torch.nn.functional.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if first:
                precision.update(logits, labels)
                latest = precision.value()
            step += 1
            if step % 10 == 0 and first:
                print(f"step {step} loss {loss.item():.3f} precision {latest:.3f}", flush=True)


main()
