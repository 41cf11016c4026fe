"""Thresholds of what is seen of batches as they are made: times of workers, locks, indices."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DataPolicy:
    """A part of the policy. Shares are 0-1 of a worker's time unless a docstring says otherwise."""

    making_share: float = 0.5
    """Share of their time in which workers make batches, as they time it, below which they are not what the
    training waits for: it is 1 where they are too few; own choice."""
    made_sooner: float = 0.5
    """Share of the wait for a step's batches. Where making them takes less, the wait is for something else,
    and without workers it would be shorter; own choice, for what a cold cache or a warm-up adds."""
    made_least: int = 5
    """Batches, least for what making one takes."""
    in_turns: float = 0.5
    """Share of looks at workers that find them waiting for another process to let go of a lock: they take
    turns. Of two that do nothing else it is half, of more all but one; own choice."""
    many_waiting: int = 4
    """Workers that wait without computing, and `many_workers` times the cores, from which it is in doubt
    whether more of them bring anything; own choice."""
    epochs_alike: int = 2
    """Epochs in a row that began with the same random state, least: of 64 bits, which no chance repeats."""
    epochs_in_order: int = 3
    """Epochs in a row that asked for the same samples in the same order, least; own choice: of two, one may
    be a look at the loader before the training."""
    order_batches: int = 4
    """Batches of an epoch whose indices were compared, least: with fewer there is hardly an order."""
    order_samples: int = 32
    """Samples of these, least; own choice: smaller data sets are tried on purpose."""
