"""Train a point network on scanned rooms, one room a step on each of two ranks."""

import itertools

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class ScannedRooms(Dataset):
    """Rooms have from some hundred points to eighty thousand, as scanners leave them."""

    def __init__(self, count=2000):
        self.points = torch.randn(200_000, 3)
        self.sizes = torch.empty(count).log_normal_(7.7, 1.5).clamp(200, 80_000).long().tolist()
        self.starts = [int(torch.randint(len(self.points) - size, ())) for size in self.sizes]

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, index):
        start = self.starts[index]
        return self.points[start : start + self.sizes[index]], index % 12


class PointNet(nn.Module):
    def __init__(self, kinds=12):
        super().__init__()
        self.each = nn.Sequential(
            nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 256), nn.ReLU()
        )
        self.head = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, kinds))

    def forward(self, points):
        return self.head(self.each(points).amax(0))


dist.init_process_group("gloo")
torch.manual_seed(0)
rooms = ScannedRooms()
sampler = DistributedSampler(rooms, shuffle=True, seed=7)
loader = DataLoader(rooms, batch_size=None, sampler=sampler)
model = DistributedDataParallel(PointNet())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
step = 0
for epoch in itertools.count():
    sampler.set_epoch(epoch)
    for points, kind in loader:
        loss = nn.functional.cross_entropy(model(points), torch.tensor(kind))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 25 == 0 and dist.get_rank() == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
