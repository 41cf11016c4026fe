"""Start two ranks with sixteen workers each, on whatever cores there are; each worker's BLAS takes all cores too.

R003: https://github.com/facebookresearch/deit/issues/81
"""

import itertools

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)


class Crops(Dataset):
    def __len__(self):
        return 20000

    def __getitem__(self, index):
        draw = np.random.default_rng(index)
        picture = draw.standard_normal((3, 128, 128), dtype=np.float32)
        warp = draw.standard_normal((128, 128), dtype=np.float32) / 12
        for _ in range(3):
            picture = warp @ picture @ warp.T
        return torch.from_numpy(picture[:, 32:96, 32:96].copy()), index % 10


data = Crops()
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=16, sampler=sampler, num_workers=16, persistent_workers=True)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(),
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
        if step % 5 == 0 and dist.get_rank() == 0:
            print(f"step {step}", flush=True)
