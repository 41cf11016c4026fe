"""Classify JPEG images with the loader as it comes: num_workers was never set.

R002: https://github.com/huggingface/transformers/issues/20581
"""

import io
import itertools

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

torch.manual_seed(0)
torch.set_num_threads(1)


class Pictures(Dataset):
    def __init__(self, count=256):
        self.files = []
        for index in range(count):
            pixels = torch.randint(
                256, (30, 40, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(index)
            )
            file = io.BytesIO()
            Image.fromarray(pixels.numpy()).resize((640, 480)).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())
        self.augment = transforms.Compose(
            [transforms.RandomResizedCrop(64), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
        )

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return self.augment(Image.open(io.BytesIO(self.files[index]))), index % 10


loader = DataLoader(Pictures(), batch_size=16, shuffle=True, drop_last=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.Conv2d(16, 32, 3, stride=2),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(32, 10),
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
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
