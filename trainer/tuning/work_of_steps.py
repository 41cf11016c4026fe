"""Whether steps of A and B hold equal work, and what they are compared by if not. Pure.

Another batch size or number of ranks makes a step of other work; time per step would then mean nothing. All
other changes leave the work of a step alone: where batches hold other numbers of samples all along, as many
as make up so many tokens, A and B see the same ones, and their means differ by where they were measured.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from perftui.ipc.ledger_records import Launch

Unit: TypeAlias = Literal["step", "sample"]
_SAME_WITHIN = 0.02
"""Means of a step that are closer are the same work: the last batch of an epoch may be smaller."""


def unit_of(launches: Sequence[Launch], semantics: str) -> Unit:
    """Return what the speeds are to be compared by: steps, unless the change has given them other work.

    Args:
        launches: of both settings.
        semantics: of the change.
    """
    if semantics != "changes-training":
        return "step"
    sizes = [launch.samples_per_step for launch in launches if launch.log_step_s is not None]
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(sizes):
        return "step"
    return "step" if _alike(known) else "sample"


def unequal_work(launches: Sequence[Launch], semantics: str) -> str | None:
    """Say why no speeds can be compared although launches were measured; None: they can.

    Only of a change that makes another training: all others leave the work of a step alone.

    Args:
        launches: measured ones of both settings.
        semantics: of the change.
    """
    if semantics != "changes-training":
        return None
    samples = [launch.samples_per_step for launch in launches]
    known = [each for each in samples if each is not None]
    if len(known) < len(samples):
        return "how many samples a step holds is not known, and the change may alter it"
    tokens = [launch.tokens_per_step for launch in launches]
    counted = [each for each in tokens if each is not None]
    if not counted:
        return None
    if len(counted) < len(tokens):
        return "how many tokens a sample holds is known of some launches only, and the change may alter it"
    lengths = [each / of for each, of in zip(counted, known, strict=True)]
    if _alike(lengths):
        return None
    return f"samples hold other numbers of tokens, {min(lengths):.4g} and {max(lengths):.4g}"


def _alike(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= _SAME_WITHIN * max(values)
