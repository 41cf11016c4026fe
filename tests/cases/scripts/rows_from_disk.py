"""Read each item as scattered small records of a file that the page cache never keeps.

R084: https://github.com/huggingface/neuralcoref/issues/234
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
RECORD_BYTES, RECORDS, A_ITEM = 4096, 1 << 16, 400


class Mentions(Dataset):
    def __init__(self):
        file, self.path = tempfile.mkstemp(dir=".", suffix=".bin")
        atexit.register(lambda pid=os.getpid(): os.getpid() == pid and os.remove(self.path))
        for _ in range(RECORDS * RECORD_BYTES >> 20):
            os.write(file, os.urandom(1 << 20))
        os.fsync(file)
        os.close(file)
        self.file = os.open(self.path, os.O_RDONLY | os.O_DIRECT)
        self.room = mmap.mmap(-1, RECORD_BYTES)

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        rows = []
        for number in range(A_ITEM):
            os.preadv(self.file, [self.room], (index * 7919 + number * 104729) % RECORDS * RECORD_BYTES)
            rows.append(self.room[0])
        return torch.tensor(rows, dtype=torch.float32) / 255, index % 2


loader = DataLoader(Mentions(), batch_size=8, shuffle=True, num_workers=2)
model = torch.nn.Sequential(torch.nn.Linear(A_ITEM, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for rows, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
