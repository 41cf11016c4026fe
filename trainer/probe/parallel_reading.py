"""How the ranks work together, read from the live wrappers: DistributedDataParallel, FSDP, DataParallel."""

import sys
from collections.abc import Callable
from typing import Any

import msgspec

from perftui.ipc.facts import DdpFacts, ParallelFacts
from perftui.ipc.units import MIB
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.gradient_syncs import GradientSyncs
from perftui.trainer.probe.live_objects import LiveObjects
from perftui.trainer.probe.sharding_counts import sharding_counts
from perftui.trainer.probe.sharding_reading import read_sharding

_BUCKETS_KEPT = 64
ALONE = "no process group and no parallel wrapper in this process"


class ParallelReader:
    """Reads the default process group and all wrappers that are alive.

    A script destroys its process group before it ends; what was in force then stays.

    Args:
        live: the wrappers.
        syncs: what sampled steps told of DDP's synchronisations.
        steps: returns how many steps have finished.
    """

    def __init__(
        self,
        live: LiveObjects,
        syncs: GradientSyncs,
        steps: Callable[[], int],
    ) -> None:
        self._live = live
        self._syncs = syncs
        self._steps = steps
        self._backend: str | None = None
        self._world_size: int | None = None
        self._ddp: DdpFacts | None = None

    def read(self) -> tuple[ParallelFacts | None, str | None]:
        """Return what is in force, or None with the reason."""
        group = _group()
        if group is not None:
            self._backend, self._world_size = str(group.get_backend()), int(group.get_world_size())
        ddp = self._live.ddp.all()
        if ddp and (group is not None or self._ddp is None):
            self._ddp = _ddp(ddp)
        if self._ddp is not None:
            self._ddp = _with_syncs(self._ddp, self._syncs)
        fsdp = read_sharding(self._live.fsdp1.all(), sharding_counts, self._steps())
        data_parallel = bool(self._live.data_parallel.all())
        if self._backend is None and not ddp and fsdp is None and not data_parallel:
            return None, ALONE
        return ParallelFacts(
            backend=self._backend,
            world_size=self._world_size,
            ddp=self._ddp if ddp else None,
            fsdp=fsdp,
            data_parallel=data_parallel,
        ), None


def _group() -> Foreign:
    distributed: Foreign = sys.modules.get("torch.distributed")
    ready = distributed is not None and distributed.is_available() and distributed.is_initialized()
    return distributed if ready else None


def _ddp(modules: list[Foreign]) -> DdpFacts:
    newest = modules[-1]
    own = dict(vars(newest))
    cap = own.get("bucket_bytes_cap")
    return DdpFacts(
        modules=len(modules),
        bucket_cap_mb=None if cap is None else round(cap / MIB, 3),
        gradient_as_bucket_view=own.get("gradient_as_bucket_view"),
        static_graph=own.get("static_graph"),
        find_unused_parameters=own.get("find_unused_parameters"),
        comm_hook=_comm_hook(own),
        backend=_backend(own.get("process_group")),
        world_size=_size(own.get("process_group")),
        buckets_mib=_buckets(newest),
    )


def _with_syncs(ddp: DdpFacts, syncs: GradientSyncs) -> DdpFacts:
    if not syncs.steps:
        return ddp
    per_step = syncs.syncs / syncs.steps
    known = ddp.modules == 1 and ddp.buckets_mib is not None and len(ddp.buckets_mib) < _BUCKETS_KEPT
    return msgspec.structs.replace(
        ddp,
        backwards_per_step=round(syncs.backwards / syncs.steps, 2),
        syncs_per_step=round(per_step, 2),
        all_reduces_per_step=round(per_step * len(ddp.buckets_mib or ()), 2) if known else None,
    )


def _comm_hook(own: dict[str, Any]) -> str | None:
    hooks = own.get("_comm_hooks") or []
    return str(getattr(hooks[-1][0], "__name__", hooks[-1][0])) if hooks else None


def _size(group: Foreign) -> int | None:
    return None if group is None else int(group.size())


def _backend(group: Foreign) -> str | None:
    distributed = _group()
    return None if group is None or distributed is None else str(distributed.get_backend(group))


def _buckets(module: Foreign) -> list[float] | None:
    """Return the sizes that the reducer writes into its log, once it has formed the buckets."""
    read = getattr(module, "_get_ddp_logging_data", None)
    log: dict[str, Any] = {} if read is None else read()
    sizes = str(log.get("rebuilt_bucket_sizes") or log.get("bucket_sizes") or "")
    found = [int(size) for size in sizes.replace(" ", "").split(",") if size.isdigit()]
    return [round(size / MIB, 3) for size in found[:_BUCKETS_KEPT]] or None
