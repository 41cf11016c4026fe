"""Which setting a comparison launches next: for its speed, and for its losses where it may round. Pure."""

from collections.abc import Mapping, Sequence

from perftui.ipc.ledger_records import Launch
from perftui.trainer.tuning.judge import judge, next_launch
from perftui.trainer.tuning.regression import Label, Noise


def next_trial(
    launches: Sequence[Launch],
    losses: Sequence[Mapping[int, float | None]],
    semantics: str,
    noise: Noise,
    cpus: float,
    most_launches: int,
    bound: float | None = None,
) -> Label | None:
    """Return which setting to launch next; None when a verdict stands.

    A faster change that may alter the arithmetic takes a second A, if there was one alone: what launches of
    the same settings differ by in their losses is what those of the change are held against.

    Args:
        launches: so far, in wall order.
        losses: by step, of each launch.
        semantics: of the change.
        noise: what is known of the noise between launches here.
        cpus: effective cores of the host.
        most_launches: of the comparison.
        bound: the largest speed-up that the change can bring, as a factor; None: not known.
    """
    label = next_launch(launches, noise, cpus, most_launches, semantics, bound)
    if label is not None:
        return "B" if [launch.label for launch in launches] == ["A", "B", "A"] else label
    curves = [curve for launch, curve in zip(launches, losses, strict=True) if launch.label == "A"]
    lacks_a_spread = (
        semantics == "numeric"
        and len(launches) < most_launches
        and len(curves) == 1
        and bool(curves[0])
        and judge(launches, noise, cpus, semantics=semantics).verdict == "faster"
    )
    return "A" if lacks_a_spread else None
