"""Train a leaf classifier on two ranks from a collection of only a few hundred small pictures."""

import io
import itertools

import torch
import torch.distributed as dist
from PIL import Image
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from torchvision.transforms.functional import hflip, pil_to_tensor


class Leaves(Dataset):
    def __init__(self, count=96):
        pixels = torch.randint(256, (count, 4, 4, 3), dtype=torch.uint8).numpy()
        self.files = []
        for one in pixels:
            file = io.BytesIO()
            Image.fromarray(one).resize((32, 32)).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        picture = pil_to_tensor(Image.open(io.BytesIO(self.files[index]))).float() / 255
        return hflip(picture) if torch.rand(()) < 0.5 else picture, index % 6


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    leaves = Leaves()
    sampler = DistributedSampler(leaves)
    loader = DataLoader(leaves, batch_size=16, sampler=sampler, num_workers=2)
    model = DistributedDataParallel(
        nn.Sequential(
            nn.Conv2d(3, 32, 3),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(128, 6),
        )
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        model.train()
        for pictures, kinds in loader:
            loss = nn.functional.cross_entropy(model(pictures), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 10 == 0 and dist.get_rank() == 0:
            print(f"epoch {epoch} step {epoch * len(loader)} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
