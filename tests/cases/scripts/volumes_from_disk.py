"""Cut small patches out of volumes that are read whole from disk each time; the set is larger than any cache.

The reader goes past the page cache, as reads of a set larger than the memory do.
R077: https://github.com/MIC-DKFZ/nnUNet/issues/239
"""

import atexit
import itertools
import mmap
import os
import tempfile

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
VOLUME_BYTES = 64 << 20


class Volumes(Dataset):
    def __init__(self, count=16):
        file, self.path = tempfile.mkstemp(dir=".", suffix=".raw")
        atexit.register(lambda pid=os.getpid(): os.getpid() == pid and os.remove(self.path))
        for _ in range(count):
            os.write(file, os.urandom(1 << 20) * 64)
        os.fsync(file)
        os.close(file)
        self.count = count

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        room = mmap.mmap(-1, VOLUME_BYTES)
        file = os.open(self.path, os.O_RDONLY | os.O_DIRECT)
        os.preadv(file, [room], index % self.count * VOLUME_BYTES)
        os.close(file)
        patch = torch.frombuffer(room, dtype=torch.uint8, count=32**3).float().view(1, 32, 32, 32)
        return patch / 255, index % 2


loader = DataLoader(Volumes(), batch_size=2, shuffle=True, num_workers=2)
model = torch.nn.Sequential(
    torch.nn.Conv3d(1, 8, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool3d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(64, 2),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for patches, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(patches), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
