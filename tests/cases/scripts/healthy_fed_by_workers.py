"""Decode small JPEGs with a worker that keeps up with the model: nothing is wrong with it."""

import io
import itertools

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms.functional import to_tensor

torch.manual_seed(0)
torch.set_num_threads(1)


class Pictures(Dataset):
    def __init__(self, count=256):
        self.files = []
        for pixels in torch.randint(256, (count, 48, 48, 3), dtype=torch.uint8):
            file = io.BytesIO()
            Image.fromarray(pixels.numpy()).save(file, "JPEG")
            self.files.append(file.getvalue())

    def __len__(self):
        return 12800

    def __getitem__(self, index):
        return to_tensor(Image.open(io.BytesIO(self.files[index % 256]))), index % 10


loader = DataLoader(Pictures(), batch_size=16, shuffle=True, num_workers=1, persistent_workers=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 48, 3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(48, 48, 3),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(48, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
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
