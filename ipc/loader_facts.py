"""What a rank tells of its loader's workers: part of `facts`, apart for its length."""

import msgspec


class CopiedGenerator(msgspec.Struct, frozen=True, kw_only=True):
    """A random generator that was made before the workers started, and that they draw from as they fetch."""

    owner: str
    """Class that keeps it, or the module of which it is a global."""
    attribute: str
    kind: str
    """numpy.Generator, numpy.RandomState, random.Random, torch.Generator."""


class LoadingFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What making batches of the training loader takes: totals of its workers, or of the training thread.

    Since the first batch, wall time of each; of the training thread where the loader has no workers.
    """

    loader: int
    """Index of the loader."""
    batches: int
    fetch_s: float
    """Seconds in which the dataset was asked for samples."""
    collate_s: float
    """Seconds in which samples were put together (`collate_fn`)."""
    collate: str = ""
    """Name of the function that does it, or of its class; default_collate and default_convert: torch's."""
