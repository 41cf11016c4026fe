"""Whether a sampler draws its order by chance, as its code shows: nothing of it is run."""

from collections.abc import Iterable

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.reached_code import members, reached_from

_DRAWING = frozenset(
    {
        "randperm", "permutation", "permuted", "shuffle", "sample", "choice", "choices", "multinomial",
        "randint", "randrange", "integers", "rand", "random", "random_", "default_rng", "RandomState",
    }
)  # fmt: skip
_SORTING = frozenset({"sort", "sorted", "argsort", "lexsort", "topk"})
"""An order by length or difficulty, in which chance decides among equals, is the same again on purpose."""
_NOT_OWN = ("torch", "builtins", "typing", "abc", "collections")


def draws_by_chance(chain: Iterable[Foreign]) -> bool | None:
    """Return whether samplers draw an order; None where all are torch's, and none of those that draw.

    False where one of them sorts, or was told not to shuffle.

    Args:
        chain: samplers that hand indices on to one another.
    """
    drawn: bool | None = None
    for sampler in chain:
        classes = [kind for kind in type(sampler).__mro__ if kind.__module__.split(".")[0] not in _NOT_OWN]
        if not classes:
            drawn = True if "Random" in type(sampler).__name__ else drawn
            continue
        if _told_not_to(sampler):
            return False
        names = frozenset(name for kind in classes for name in vars(kind))
        functions = [each for _, each in members(classes, names)]
        words = reached_from(functions, classes).names
        if not words.isdisjoint(_SORTING):
            return False
        drawn = bool(drawn) or not words.isdisjoint(_DRAWING)
    return drawn


def _told_not_to(sampler: Foreign) -> bool:
    """Tell whether a sampler keeps that it is not to shuffle."""
    held: dict[str, Foreign] = getattr(sampler, "__dict__", {})
    return any("shuffl" in name.lower() and value is False for name, value in held.items())
