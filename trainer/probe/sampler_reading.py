"""In which order the loaders ask for samples: noted when a loader begins to be iterated, read later.

What is noted in the training thread is plain attributes of torch's own classes; a sampler of the script's is
looked into by the background thread alone, where an error costs nothing.
"""

import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec.structs
from torch.utils.data import RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

from perftui.ipc.loader_facts import CopiedGenerator, SamplingFacts
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.copied_generators import Copied
from perftui.trainer.probe.drawn_orders import draws_by_chance
from perftui.trainer.probe.order_reading import Dealt, OrderWatch
from perftui.trainer.probe.serving_code import called_at
from perftui.trainer.probe.worker_states import GeneratorTold, StatesPage, WorkerTold, alike, longest_s

_DEPTH = 4
_EPOCHS_KEPT = 4
NOT_SEEN = "the training loader was not iterated yet, or is no DataLoader of torch"
GONE = "the sampler is gone, or cannot be referred to"


@dataclass
class _Order:
    """One loader of the script, over all times it was built and iterated."""

    begun: int = 0
    root: "weakref.ref[Foreign] | None" = None
    epochs: set[int] = field(default_factory=set)
    """What samplers took the epoch to be: the first few values."""
    worker_init_fn: bool = False
    worker_init_at: str | None = None
    generator: bool = False
    seed: int | None = None
    """What the newest iterator drew, right before the order is drawn from the same random state."""
    drawn: bool = False
    """Whether the sampler draws its order from there, anew for each iterator."""
    alike: int | None = None
    """Iterators in a row that drew the same."""
    page: StatesPage | None = None
    """Where the newest workers tell of themselves."""
    pids: list[int] = field(default_factory=list)
    """Of these workers."""
    copied: list[Copied] = field(default_factory=list)
    """Generators of the script's that they have copies of."""
    asked: OrderWatch = field(default_factory=OrderWatch)
    known: SamplingFacts | None = None
    """The last reading: a loader that the script does not keep is gone between two epochs."""


class SamplerWatch:
    """Keeps, by the index of the loader, what draws its indices."""

    def __init__(self) -> None:
        self._orders: dict[int, _Order] = {}

    def begin(self, index: int, loader: Foreign) -> None:
        """A loader begins to be iterated."""
        order = self._orders.setdefault(index, _Order())
        order.begun += 1
        order.worker_init_fn = loader.worker_init_fn is not None
        order.worker_init_at = called_at(loader.worker_init_fn) or None
        order.generator = loader.generator is not None
        root = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
        try:
            order.root = weakref.ref(root)
        except TypeError:
            order.root = None
        inner = getattr(root, "sampler", root) if _is_torchs(root) else root
        order.drawn = _drawn_alike(loader, inner)
        if isinstance(inner, DistributedSampler):
            _remember(order.epochs, vars(inner).get("epoch"))
        if _is_torchs(root) and _is_torchs(inner):  # what the script does not keep may soon be gone
            order.known = _read(index, order, [root] if inner is root else [root, inner])

    def iterate(self, index: int, iterator: Foreign) -> None:
        """A loader has made an iterator, or goes on with one."""
        order = self._orders.get(index)
        if order is None:
            return
        seed = getattr(iterator, "_base_seed", None) if order.drawn else None
        if not isinstance(seed, int):
            order.seed = order.alike = None
            return
        order.alike = 1 + (order.alike or 0) if seed == order.seed else 1
        order.seed = seed

    def deal(self, index: int) -> Dealt:
        """A loader begins to take indices from its sampler; return where to note them."""
        return self._orders.setdefault(index, _Order()).asked.begin()

    def keep_workers(
        self, index: int, page: StatesPage | None, pids: list[int], copied: list[Copied]
    ) -> None:
        """A loader has these workers now, with copies of generators; they tell on the page."""
        order = self._orders.get(index)
        if order is not None:
            order.page, order.pids, order.copied = page, pids, copied

    def read(self, index: int | None, trained: int) -> tuple[SamplingFacts | None, str | None]:
        """Return what is known of a loader, or None with the reason.

        Args:
            index: of the training loader; None where it is not known.
            trained: epochs of which a batch was trained on. An iterator that only served for a look at a
                batch is none.
        """
        order = None if index is None else self._orders.get(index)
        if index is None or order is None or not order.begun:
            return None, NOT_SEEN
        root = order.root() if order.root is not None else None
        if root is not None:
            order.known = _read(index, order, _chain(root))
        if order.known is None:
            return None, GONE
        epochs = min(order.begun, trained)
        told = [None if order.page is None else order.page.read(pid) for pid in order.pids]
        asked = order.asked.alike()
        return msgspec.structs.replace(
            order.known,
            epochs_begun=epochs,
            set_epoch=None if order.known.epoch is None else _changes(order.epochs, epochs),
            worker_init_s=longest_s(told) if order.worker_init_fn else None,
            workers_alike=alike(told) if order.worker_init_fn else None,
            epochs_alike=None if order.alike is None else min(order.alike, epochs),
            copied_generators=copied_alike(order.copied, told),
            orders_alike=None if asked is None else min(asked.times, epochs),
            order_batches=0 if asked is None else asked.batches,
            order_samples=0 if asked is None else asked.samples,
            order_in_line=asked is not None and asked.in_line,
        ), None


def copied_alike(copied: Sequence[Copied], told: Sequence[WorkerTold | None]) -> list[CopiedGenerator]:
    """Return those of the copies that two workers or more draw from in the same state.

    Where fewer than two have told of their first batch, what the code says stands; one that no worker has
    drawn from is left out.

    Args:
        copied: as found in the parent.
        told: by the workers.
    """
    fetched = [each.generators for each in told if each is not None and each.generators is not None]
    if len(fetched) < 2:
        return [each.told for each in copied if not each.may_seed]
    return [
        judged
        for each in copied
        if (judged := _judged(each, [own[each.key] for own in fetched if each.key in own])) is not None
    ]


def _judged(copied: Copied, told: Sequence[GeneratorTold]) -> CopiedGenerator | None:
    if not told:  # of a GPU, or of a kind of bits that is not NumPy's
        return None if copied.may_seed else copied.told
    begun, count = Counter(each.begun for each in told).most_common(1)[0]
    same = [each for each in told if each.begun == begun]
    if count < 2 or not any(each.drawn for each in same):
        return None
    after = Counter(each.now for each in same if each.drawn)
    return msgspec.structs.replace(copied.told, workers_alike=count, alike_after=max(after.values()) > 1)


def _drawn_alike(loader: Foreign, sampler: Foreign) -> bool:
    """Tell whether a sampler draws from the state that the loader's iterators draw a number from as well.

    Workers that stay from epoch to epoch keep their iterator, and so its number.
    """
    kept = loader.num_workers and getattr(loader, "persistent_workers", False)
    if type(sampler) is not RandomSampler or kept:
        return False
    return sampler.generator is loader.generator


def _is_torchs(sampler: Foreign) -> bool:
    return type(sampler).__module__.startswith("torch.")


def _chain(root: Foreign) -> list[Foreign]:
    """Return the samplers from the outermost inwards."""
    chain = [root]
    while len(chain) < _DEPTH:
        inner = getattr(chain[-1], "sampler", None)
        if inner is None:  # not `or`: the truth of a sampler is its length
            inner = getattr(chain[-1], "batch_sampler", None)
        if inner is None or any(inner is known for known in chain):
            break
        chain.append(inner)
    return chain


def _read(index: int, order: _Order, chain: list[Foreign]) -> SamplingFacts:
    share = next((one for one in chain if _replicas(one) is not None), None)
    inner = chain[-1]
    epoch = getattr(share, "epoch", None)
    _remember(order.epochs, epoch)
    return SamplingFacts(
        loader=index,
        sampler=type(inner).__name__,
        batch_sampler=type(chain[0]).__name__ if len(chain) > 1 else None,
        shuffle=_shuffle(share, inner),
        distributed=share is not None,
        num_replicas=None if share is None else _replicas(share),
        rank=_number(share, "rank", "process_index"),
        seed=_number(share, "seed"),
        epoch=epoch if isinstance(epoch, int) else None,
        worker_init_fn=order.worker_init_fn,
        worker_init_at=order.worker_init_at,
        generator=order.generator,
        draws=draws_by_chance(chain),
    )


def _replicas(sampler: Foreign) -> int | None:
    return _number(sampler, "num_replicas", "num_processes")


def _number(thing: Foreign, *names: str) -> int | None:
    values = (getattr(thing, name, None) for name in names)
    return next((value for value in values if isinstance(value, int)), None)


def _shuffle(share: Foreign, inner: Foreign) -> bool | None:
    told = getattr(share, "shuffle", None)
    if isinstance(told, bool):
        return told
    if isinstance(inner, RandomSampler):
        return True
    return False if isinstance(inner, SequentialSampler) else None


def _changes(epochs: set[int], begun: int) -> bool | None:
    """Tell whether `set_epoch` moves the epoch on; in the first one only a value above 0 shows it."""
    if len(epochs) > 1:
        return True
    if begun > 1:
        return False
    return True if epochs - {0} else None


def _remember(epochs: set[int], value: Foreign) -> None:
    if isinstance(value, int) and len(epochs) < _EPOCHS_KEPT:
        epochs.add(value)
