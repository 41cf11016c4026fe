"""A batch's size in one number: samples in the low bits, tokens above. No torch.

Sizes add: those of micro-batches give that of their step. So the hooks stamp one number, and whatever queues
and sums batches does the same work for both.
"""

SAMPLES_MAX = 1 << 30
"""Of a step, over its micro-batches."""
TOKEN = SAMPLES_MAX
"""One token."""


def samples_in(size: int) -> int:
    """Return the samples of a batch or a step; -1 where it gives no size."""
    return size if size < TOKEN else size % TOKEN


def tokens_in(size: int) -> int:
    """Return the tokens; -1 where there are none to be counted."""
    return size // TOKEN if size >= TOKEN else -1


def with_samples(size: int, samples: int) -> int:
    """Return a size with other samples and the same tokens."""
    return samples + max(0, tokens_in(size)) * TOKEN
