"""What the PCIe link of a GPU has shown so far: a low generation says something only under load."""


class LinkSeen:
    """The highest generation seen, and whether it was looked at under load; pure."""

    def __init__(self) -> None:
        self._highest = 0
        self._loaded = False

    def seen(self, generation: int, most: int | None, *, under_load: bool) -> int | None:
        """Take a reading; return the highest generation so far, or None while it proves nothing.

        It proves something once the link was read under load, or reached the most it can do.
        """
        self._highest = max(self._highest, generation)
        self._loaded = self._loaded or under_load
        if self._loaded or (most is not None and self._highest >= most):
            return self._highest
        return None
