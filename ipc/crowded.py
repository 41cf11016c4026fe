"""Whether a host is too busy with other work to measure anything on it, in words. Pure."""

CROWDED_SHARE = 0.3
"""Of the usable cores: from here on step times say little, to the diagnosis as well."""


def crowded_words(busy: float | None, cpus: float | None) -> str | None:
    """Return a warning where a verdict is unlikely; None where it is not, or nobody knows.

    Args:
        busy: cores busy with other work.
        cpus: effective cores.
    """
    if busy is None or cpus is None or busy < CROWDED_SHARE * cpus:
        return None
    return (
        f"other work keeps {busy:.1f} of {cpus:g} cores busy at this moment: a verdict is unlikely as long "
        "as it does"
    )
