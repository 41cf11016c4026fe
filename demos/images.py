"""The demos' pictures: JPEG files made once into a cache folder, the same on every machine.

Apart from the training scripts because a training script has its data already.
"""

import os
import random
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from PIL import Image

CLASSES = 8
JPEG_QUALITY = 92
_FORMAT = "1"  # part of the folder's name: raise it when the pictures change


def image_folder(name: str, *, files: int, width: int, height: int) -> Path:
    """Return a folder with `files` JPEGs in one subfolder per class; made on the first call.

    The folder appears whole or not at all, so that two trainings may ask for it at once.
    """
    folder = _cache() / f"{name}-{files}x{width}x{height}-v{_FORMAT}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    print(f"making {files} JPEG files of {width}x{height} in {folder} (once)", flush=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder.parent))
    try:
        for number in range(CLASSES):
            (fresh / f"class{number}").mkdir()
        with ThreadPoolExecutor() as pool:  # Pillow gives up the interpreter's lock while it works
            list(pool.map(partial(_write, fresh, width, height), range(files)))
        fresh.chmod(0o755)
        fresh.rename(folder)
    except OSError:
        if not folder.is_dir():  # nobody else was quicker: a real failure
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "perftui" / "demo-images"


def _write(folder: Path, width: int, height: int, index: int) -> None:
    path = folder / f"class{index % CLASSES}" / f"{index:05}.jpg"
    _picture(index, width, height).save(path, quality=JPEG_QUALITY)


def _picture(index: int, width: int, height: int) -> Image.Image:
    """Clouds: noise at several scales over a tint of the class, as detailed as a photograph to a decoder."""
    source = random.Random(index)
    tint = tuple(255 * ((index % CLASSES) >> bit & 1) for bit in range(3))
    picture = Image.new("RGB", (width, height), tint)
    for scale, weight in ((96, 0.7), (32, 0.4), (8, 0.25), (2, 0.15), (1, 0.1)):
        size = (width // scale + 1, height // scale + 1)
        noise = Image.frombytes("RGB", size, source.randbytes(size[0] * size[1] * 3))
        picture = Image.blend(picture, noise.resize((width, height), Image.Resampling.BILINEAR), weight)
    return picture
