"""JPEGs made on the spot, and the dataset that decodes them as a training on pictures does."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset

COUNT = 256
SIDE = 288


def make_pictures(folder: Path) -> None:
    """Write 256 JPEGs of 288 x 288: blurred noise, so that they are as large as photographs of that size."""
    from PIL import Image

    random = torch.Generator().manual_seed(0)
    for number in range(COUNT):
        coarse = torch.rand(1, 3, SIDE // 6, SIDE // 6, generator=random)
        fine = torch.nn.functional.interpolate(coarse, (SIDE, SIDE), mode="bilinear")[0]
        rows = (fine + 0.1 * torch.rand(3, SIDE, SIDE, generator=random)).clamp(0, 1)
        pixels = (rows * 255).byte().permute(1, 2, 0).contiguous().numpy()
        Image.fromarray(pixels).save(folder / f"{number:04}.jpg", quality=90)


class Pictures(Dataset[tuple[Tensor, int]]):
    """The folder's pictures over and over, cropped and turned at random."""

    def __init__(self, folder: Path, length: int) -> None:
        transforms = import_module("torchvision.transforms")

        self._paths = sorted(folder.glob("*.jpg"))
        self._length = length
        self._transform: Callable[[Any], Tensor] = transforms.Compose(
            [
                transforms.RandomResizedCrop(224),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
            ]
        )

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        from PIL import Image

        with Image.open(self._paths[index % len(self._paths)]) as picture:
            return self._transform(picture.convert("RGB")), index % 1000
