"""What a rank tells of its training loader: part of `facts`, apart for its length."""

import msgspec


class CopiedGenerator(msgspec.Struct, frozen=True, kw_only=True):
    """A random generator that was made before the workers started, and that they draw from as they fetch."""

    owner: str
    """Class that keeps it, or the module of which it is a global."""
    attribute: str
    kind: str
    """numpy.Generator, numpy.RandomState, random.Random, torch.Generator."""
    reached: str = ""
    """Expression by which a worker reaches it, from its dataset or as a global; empty: there is none."""
    module: str = ""
    """Module of which it is reached as a global; empty: from the dataset."""
    made: str = ""
    """file:line where it is made; empty: not known."""
    workers_alike: int | None = None
    """Workers that told the same state of theirs, prepared and about to fetch; None: too few have told."""
    alike_after: bool = False
    """And the same one after the first batches, of other samples: so nothing seeds it in between."""


class SamplingFacts(msgspec.Struct, frozen=True, kw_only=True):
    """In which order the training loader asks for samples, as far as the parent process can tell."""

    loader: int
    """Index of the loader."""
    sampler: str
    """Class of what draws the indices."""
    batch_sampler: str | None = None
    shuffle: bool | None = None
    distributed: bool = False
    """Whether each rank gets a part of its own."""
    num_replicas: int | None = None
    rank: int | None = None
    seed: int | None = None
    epochs_begun: int = 0
    """Epochs so far of which a batch was trained on."""
    epoch: int | None = None
    """What the sampler takes the epoch to be."""
    set_epoch: bool | None = None
    """Whether the sampler's epoch changes; None: no such sampler, or the first epoch still."""
    worker_init_fn: bool = False
    """The script prepares its workers itself; without that torch seeds random, NumPy and itself in each."""
    worker_init_s: float | None = None
    """Seconds that this took in the slowest of the newest workers; None: not known."""
    worker_init_at: str | None = None
    """file:line and name of the script's function that does it."""
    generator: bool = False
    """The script passes a random generator of its own."""
    workers_alike: list[str] | None = None
    """Of random, numpy and torch those whose generators began in the same state in all workers, once the
    script had prepared them; None: not known (fewer than two, not all have told, or not prepared by the
    script)."""
    epochs_alike: int | None = None
    """Epochs in a row, up to the newest, that began with the same random state, so that they have the same
    order; None: not known, or the order is not drawn from that state."""
    orders_alike: int | None = None
    """Epochs in a row, up to the newest, that asked for the same samples in the same order, as far as they
    were looked at; None: not seen, or no indices."""
    order_batches: int = 0
    """Of how many batches from an epoch's beginning that is known: at most 32."""
    order_samples: int = 0
    """Of how many samples of these: at most 8 of each."""
    order_in_line: bool = False
    """Their indices only rise, or only fall."""
    draws: bool | None = None
    """The code of the sampler draws by chance; False: it does not, sorts as well, or was told not to shuffle;
    None: it is one of torch's that does not draw, or no sampler."""
    copied_generators: list[CopiedGenerator] = []
    """Of which two workers or more have a copy each in the same state, as they tell, or else as their code
    shows: at most 8."""


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


class ValidatingFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of how the script validates; as of the newest validation."""

    at: str | None = None
    """file:line and function of the script's own: where it goes through the validation's loader, else where
    the model is set to evaluate."""
    without_gradients: bool = False
    """The loader was gone through with gradients switched off; False: not known."""
    num_workers: int | None = None
    """Of the validation's loader; None: there is none, or it is not known."""
    batch_size: int | None = None
