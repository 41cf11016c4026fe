"""Trials have a host to themselves: one measurement of a user at a time, none on the GPU of a live run.

They would measure each other, and a trial may take the memory that the live training needs.
"""

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perftui.ipc.errors import PerftuiError, Refused
from perftui.ipc.places import run_places, state_root
from perftui.ipc.view import RankView
from perftui.trainer.launch.runs import list_runs, running
from perftui.trainer.tuning.subject import live_picture

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_TOLD = 3


@dataclass(frozen=True)
class GpuInUse:
    """A GPU on which a live run trains."""

    run_id: str
    named: str | None
    """As `CUDA_VISIBLE_DEVICES` would name it: `1` or `GPU-…`; None: not known."""
    uuid: str | None


@contextlib.contextmanager
def measuring_alone() -> Iterator[None]:
    """Keep every other search and relaunch of this user on this host from measuring meanwhile.

    Raises:
        Refused: one goes on.
    """
    path = state_root() / f"tune-{socket.gethostname()}.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused(
                "another search or relaunch goes on on this host: they would measure each other"
            ) from None
        yield
    finally:
        os.close(handle)


def require_free_gpus(environ: Mapping[str, str]) -> None:
    """Refuse trials on a GPU on which a live run of this user trains, whatever started it.

    Args:
        environ: what the trials are started with.

    Raises:
        Refused: they may use one.
    """
    shared = [gpu for gpu in _gpus_in_use() if may_use(gpu, environ)]
    if not shared:
        return
    runs = list(dict.fromkeys(gpu.run_id for gpu in shared))
    goes = "goes on on a GPU" if len(runs) == 1 else "go on on GPUs"
    raise Refused(
        f"{', '.join(runs[:_TOLD])} {goes} that trials of this command may use: they would measure each "
        "other, and a trial may take the memory that it needs; stop it, give the trials another GPU "
        f"({_VISIBLE}=…), or say --beside"
    )


def may_use(gpu: GpuInUse, environ: Mapping[str, str]) -> bool:
    """Tell whether what is started in an environment may use a GPU; where it cannot be told, it may."""
    visible = _visible(environ)
    if visible is None:
        return True
    return any(_may_be(name, gpu) for name in visible)


def named_gpu(device: str, environ: Mapping[str, str]) -> str | None:
    """Return how `CUDA_VISIBLE_DEVICES` would name a process's `cuda:1`; None where that is unknown."""
    index = device.partition(":")[2] or "0"
    visible = _visible(environ)
    if not index.isdigit() or visible is None:
        return index if index.isdigit() else None
    return visible[int(index)] if int(index) < len(visible) else None


def _visible(environ: Mapping[str, str]) -> list[str] | None:
    """Return the names of the GPUs that an environment lets see; None: all."""
    told = environ.get(_VISIBLE)
    if told is None:
        return None
    names = [each.strip() for each in told.split(",")]
    hidden = next((place for place, each in enumerate(names) if not each or each.startswith("-")), len(names))
    return names[:hidden]  # the driver stops at the first that it does not know


def _may_be(name: str, gpu: GpuInUse) -> bool:
    """Tell whether a name may mean a GPU: an index and a UUID cannot be compared without the driver."""
    if name.isdigit():
        return gpu.named is None or not gpu.named.isdigit() or int(gpu.named) == int(name)
    known = [_bare(each) for each in (gpu.uuid, gpu.named) if each is not None and not each.isdigit()]
    return not known or any(each.startswith(_bare(name)) for each in known)


def _bare(uuid: str) -> str:
    return uuid.lower().removeprefix("gpu-")


def _gpus_in_use() -> list[GpuInUse]:
    found: list[GpuInUse] = []
    for line in running(list_runs()):
        with contextlib.suppress(PerftuiError):  # one whose hub is silent cannot be asked
            ranks = live_picture(run_places(line.run_id)).view.ranks
            found += [_in_use(line.run_id, rank) for rank in ranks if rank.device.startswith("cuda")]
    return found


def _in_use(run_id: str, rank: RankView) -> GpuInUse:
    environ = rank.facts.environment if rank.facts else None
    named = None if environ is None else named_gpu(rank.device, environ)
    return GpuInUse(run_id, named, rank.gpu_uuid)
