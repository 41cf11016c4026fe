"""How many files this process may open: a hub has one for each rank, and some more."""

import contextlib
import resource

_BESIDE = 256
_EACH = 2


def make_room(peers: int) -> None:
    """Raise the soft limit of open files where so many peers do not fit; as far as the hard one allows.

    Only then: what this process starts inherits the limit, a relaunched training among it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _EACH * peers + _BESIDE
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    wanted = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
    with contextlib.suppress(ValueError, OSError):  # a sandbox may refuse: then some ranks are not heard
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
