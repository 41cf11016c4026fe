"""Feed a GPU with two workers that decode photographs: it waits most of the time.

R001: https://github.com/open-edge-platform/geti/pull/5958
"""

import io
import itertools

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

torch.manual_seed(0)
device = torch.device("cuda")


class Photographs(Dataset):
    def __init__(self, count=64):
        self.files = []
        for pixels in torch.randint(256, (count, 94, 125, 3), dtype=torch.uint8):
            file = io.BytesIO()
            Image.fromarray(pixels.numpy()).resize((500, 375)).save(file, "JPEG", quality=92)
            self.files.append(file.getvalue())
        self.augment = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        return self.augment(Image.open(io.BytesIO(self.files[index % 64]))), index % 10


loader = DataLoader(
    Photographs(), batch_size=64, shuffle=True, num_workers=2, pin_memory=True, prefetch_factor=4
)
model = models.resnet18(num_classes=10).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for epoch in itertools.count():
    for images, labels in loader:
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
