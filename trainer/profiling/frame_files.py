"""Whose code a frame of a trace is in, told from its file.

torch writes a file without the folder that it was imported from: `transformers/trainer.py` and `queue.py`
look like files of the user's. So they are told by name, and where the training's packages are at hand, by the
file.
"""

import re
import site
import sys
from functools import lru_cache
from pathlib import Path

from perftui.ipc.own_files import is_ours

_INSTALLED = re.compile(r"site-packages|dist-packages|lib/python3|^<")
_PACKAGES = frozenset({
    "accelerate", "albumentations", "apex", "audiomentations", "bitsandbytes", "composer", "cv2",
    "cupy", "deepspeed", "detectron2", "dgl", "diffusers", "dill", "einops", "fairscale", "fastai",
    "flash_attn", "fsspec", "functorch", "h5py", "huggingface_hub", "hydra", "ignite", "imageio",
    "imgaug", "joblib", "jsonargparse", "keras", "kornia", "lightning", "lightning_fabric",
    "lightning_utilities", "litdata", "matplotlib", "mlflow", "mmcv", "mmengine", "monai",
    "multiprocess", "nltk", "numba", "numpy", "nvidia", "omegaconf", "open_clip", "opacus", "optimum",
    "pandas", "peft", "perftui", "PIL", "plotly", "polars", "psutil", "pyarrow", "pydantic",
    "pytorch_lightning", "pytorch_metric_learning", "ray", "requests", "rich", "safetensors", "scipy",
    "sentence_transformers", "skimage", "sklearn", "spacy", "streaming", "tensorboard", "tensorboardX",
    "tensordict", "tensorflow", "timm", "tokenizers", "torch", "torch_geometric", "torch_scatter",
    "torch_sparse", "torch_xla", "torchao", "torchaudio", "torchdata", "torchgen", "torchmetrics",
    "torchrec", "torchtext", "torchvision", "tqdm", "transformer_engine", "transformers", "triton",
    "trl", "typeguard", "urllib3", "wandb", "webdataset", "xformers", "yaml", "zarr",
})  # fmt: skip
"""Top-level packages that trainings have installed and hardly anybody calls a folder of their own."""
_HUGGING_FACE = re.compile(
    r"^datasets/((arrow|iterable)_(dataset|writer|reader)|table|builder|fingerprint|features/|formatting/|utils/)"
)
"""Of `datasets`, which is a usual folder of scripts, the files of the package."""
_STANDARD_PACKAGES = frozenset({
    "asyncio", "collections", "concurrent", "ctypes", "email", "encodings", "html", "http", "importlib",
    "json", "logging", "multiprocessing", "pathlib", "re", "sqlite3", "string", "sysconfig", "tomllib",
    "unittest", "urllib", "wsgiref", "xml", "xmlrpc", "zipfile", "zoneinfo",
})  # fmt: skip
_SCRIPTS = frozenset({"cmd", "code", "profile", "test", "trace"})
"""Modules of the standard library that no training runs, and by which scripts are called."""


@lru_cache(maxsize=16384)
def known_by_name(file: str) -> bool:
    """Return whether a file, as torch writes it, is of Python, of a well-known package, or our own."""
    if _INSTALLED.search(file) or _HUGGING_FACE.match(file) or is_ours(file):
        return True
    top, below, _ = file.partition("/")
    if below:
        return top in _PACKAGES or top in _STANDARD_PACKAGES
    module = top.removesuffix(".py")
    return module in sys.stdlib_module_names and module not in _SCRIPTS


@lru_cache(maxsize=16384)
def installed_here(file: str) -> bool:
    """Return whether a file, as torch writes it, is of Python or of a package that this interpreter has."""
    if known_by_name(file):
        return True
    if file.startswith(("/", "..")):  # of no folder that is imported from
        return False
    try:
        return any((folder / file).is_file() for folder in _folders())
    except OSError:  # no name of a file
        return False


@lru_cache(maxsize=1)
def _folders() -> tuple[Path, ...]:
    known = [Path(folder) for folder in (*site.getsitepackages(), *sys.path)]
    return tuple({folder: None for folder in known if folder.name in ("site-packages", "dist-packages")})
