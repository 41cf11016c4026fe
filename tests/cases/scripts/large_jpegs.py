"""Decode full-HD JPEGs for thumbnails of 64 pixels, with as many workers as there are cores.

R059: https://github.com/python-pillow/Pillow/issues/4705
"""

import io
import itertools
import os

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

torch.manual_seed(0)
torch.set_num_threads(1)


class Photographs(Dataset):
    def __init__(self, count=32):
        self.files = []
        for index in range(count):
            pixels = torch.randint(
                256, (135, 240, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(index)
            )
            file = io.BytesIO()
            Image.fromarray(pixels.numpy()).resize((1920, 1080)).save(file, "JPEG", quality=92)
            self.files.append(file.getvalue())
        self.small = transforms.Compose(
            [transforms.Resize(64), transforms.CenterCrop(64), transforms.ToTensor()]
        )

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        return self.small(
            Image.open(io.BytesIO(self.files[index % len(self.files)])).convert("RGB")
        ), index % 10


loader = DataLoader(Photographs(), batch_size=8, shuffle=True, num_workers=len(os.sched_getaffinity(0)))
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(4),
    torch.nn.Flatten(),
    torch.nn.Linear(256, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in itertools.count():
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 4 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
