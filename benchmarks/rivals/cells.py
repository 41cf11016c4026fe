"""The loops that every tool has to watch, as data; `tasks.py` builds them."""

from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["mlp", "flood", "wide_mlp", "gpt", "resnet"]
Device = Literal["cpu", "cuda"]

LEAST_WARM_UP = 2
FLOOD = "flood"


@dataclass(frozen=True)
class Cell:
    """One loop. Steps of the warm-up are left out of every figure."""

    name: str
    what: str
    kind: Kind
    steps: int
    warm_up: int
    batch_size: int
    workers: int = 0
    modules: int = 4
    device: Device = "cpu"
    reads_loss: bool = False

    def scaled(self, factor: float) -> "Cell":
        """Return the same loop with fewer or more steps, for trying things out."""
        steps = max(10, round(self.steps * factor))
        return replace(self, steps=steps, warm_up=max(LEAST_WARM_UP, round(self.warm_up * factor)))


@dataclass(frozen=True)
class Group:
    """Cells that one process runs one after another: a start on a GPU machine costs more than a loop."""

    name: str
    cells: tuple[str, ...]
    device: Device


def _small(modules: int, workers: int) -> Cell:
    return Cell(
        f"mlp-{modules}-w{workers}",
        f"MLP of {modules} modules, batch 32, {workers} workers",
        "mlp",
        steps=6000 if modules < 100 else 4000,
        warm_up=500,
        batch_size=32,
        workers=workers,
        modules=modules,
    )


def _on_gpu(name: str, what: str, kind: Kind, steps: int, batch_size: int, workers: int = 0) -> Cell:
    return Cell(name, what, kind, steps, max(8, steps // 6), batch_size, workers, device="cuda")


_ALL = (
    _small(4, 0),
    _small(4, 2),
    _small(403, 0),
    _small(403, 2),
    Cell(FLOOD, "one weight, no loader, as fast as it goes", "flood", 20_000, 1000, batch_size=1),
    _on_gpu("gpu-mlp-256", "MLP 512-512-512-1000, batch 256", "wide_mlp", 800, 256),
    _on_gpu("gpu-mlp-512", "the same, batch 512", "wide_mlp", 800, 512),
    _on_gpu("gpu-mlp-1024", "the same, batch 1024", "wide_mlp", 800, 1024),
    replace(
        _on_gpu("gpu-mlp-256-read", "batch 256, the loss read each step", "wide_mlp", 800, 256),
        reads_loss=True,
    ),
    _on_gpu("gpu-gpt-12", "GPT of 12 layers, 8 x 1024 tokens, bf16", "gpt", 30, 8, workers=2),
    _on_gpu("gpu-resnet-jpeg", "ResNet-50 from JPEGs, batch 64, bf16", "resnet", 30, 64, workers=10),
)
CELLS = {cell.name: cell for cell in _ALL}
GROUPS = (
    *(Group(cell.name, (cell.name,), "cpu") for cell in _ALL if cell.device == "cpu"),
    Group("gpu", tuple(cell.name for cell in _ALL if cell.device == "cuda"), "cuda"),
)
TOGETHER = Group("cpu-together", tuple(cell.name for cell in _ALL if cell.kind == "mlp"), "cpu")
"""The small models in one process, for machines on which a start takes long."""


def chosen_groups(words: str) -> list[Group]:
    """Return the groups that a comma list of `cpu`, `cpu-together`, `gpu` and cell names asks for.

    Raises:
        ValueError: a word names nothing.
    """
    chosen: list[Group] = []
    for word in words.split(","):
        if word == TOGETHER.name:
            chosen.append(TOGETHER)
        elif word == "cpu":
            chosen += [group for group in GROUPS if group.device == "cpu"]
        elif word in CELLS and CELLS[word].device == "cuda":
            chosen.append(Group(word, (word,), "cuda"))
        else:
            named = [group for group in GROUPS if group.name == word]
            if not named:
                raise ValueError(
                    f"no cell is called {word!r}; there are cpu, cpu-together, gpu, {', '.join(CELLS)}"
                )
            chosen += named
    return chosen
