"""Train on two ranks of which rank 1 was given the shard that still has to be decoded."""

import io
import itertools

import torch
import torch.distributed as dist
from PIL import Image
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms.functional import to_tensor

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
torch.set_num_threads(1)


class Shard(Dataset):
    def __init__(self, count=64):
        pixels = torch.randint(256, (count, 60, 80, 3), dtype=torch.uint8)
        self.pictures = [
            Image.fromarray(one.numpy()).resize((640, 480) if rank == 1 else (32, 32)) for one in pixels
        ]
        self.files = []
        for picture in self.pictures:
            file = io.BytesIO()
            picture.save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())

    def __len__(self):
        return 6400

    def __getitem__(self, index):
        return to_tensor(Image.open(io.BytesIO(self.files[index % 64])).resize((32, 32))), index % 10


loader = DataLoader(Shard(), batch_size=16, shuffle=True)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(128, 10),
)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
step = 0
for epoch in itertools.count():
    for images, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        step += 1
        if step % 10 == 0 and rank == 0:
            print(f"step {step}", flush=True)
