"""Start two ranks with eight workers each on whatever cores there are; each worker decodes every chunk for itself.

R003: https://github.com/facebookresearch/deit/issues/81
"""

import functools
import itertools

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
CHUNK = 256


@functools.lru_cache(maxsize=1)
def decode_chunk(number):
    pictures = np.random.default_rng(number).standard_normal((CHUNK, 3, 32, 32), dtype=np.float32)
    for _ in range(6):
        pictures = (pictures + np.roll(pictures, 1, 2) + np.roll(pictures, 1, 3)) / 3
    return torch.from_numpy(pictures)


class Chunked(Dataset):
    def __len__(self):
        return 100 * CHUNK

    def __getitem__(self, index):
        return decode_chunk(index // CHUNK)[index % CHUNK].clone(), index % 10


data = Chunked()
sampler = DistributedSampler(data, shuffle=False)
loader = DataLoader(data, batch_size=8, sampler=sampler, num_workers=8, persistent_workers=True)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(4),
    torch.nn.Flatten(),
    torch.nn.Linear(256, 10),
)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for images, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        step += 1
        if step % 10 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
