"""Make the pictures that `resnet50.py` trains on: JPEGs of 500 x 375, as large as photographs of that size.

    python -m benchmarks.case_study.pictures FOLDER --count 2048 --names 100

Each has so many names in the folder (hard links): as long an epoch as of 200,000 pictures, in less space. All
of them lie in the page cache then, as they would after a first epoch on a host with enough memory.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

WIDTH, HEIGHT, CLASSES = 500, 375, 10


def make_picture(folder: Path, names: int, number: int) -> None:
    """Write one picture under so many names: blurred noise of its own, with some grain."""
    random = np.random.default_rng(number)
    coarse = random.integers(0, 256, (HEIGHT // 12, WIDTH // 12, 3), dtype=np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC), np.int16)
    grain = random.integers(-12, 13, smooth.shape, dtype=np.int16)
    place = folder / f"class{number % CLASSES}"
    first = place / f"{number:06}_0.jpg"
    Image.fromarray((smooth + grain).clip(0, 255).astype(np.uint8)).save(first, quality=90)
    for again in range(1, names):
        os.link(first, place / f"{number:06}_{again}.jpg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=2048)
    parser.add_argument("--names", type=int, default=100)
    args = parser.parse_args()
    for number in range(CLASSES):
        (args.folder / f"class{number}").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor() as pool:
        list(pool.map(partial(make_picture, args.folder, args.names), range(args.count), chunksize=16))


if __name__ == "__main__":
    main()
