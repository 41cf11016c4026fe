"""Sharding of the model, read from live wrappers and from the states that torch keeps for `fully_shard`."""

import sys
from typing import Any

from perftui.ipc.facts import FsdpFacts
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.sharding_counts import ShardingCounts

_STATES = "torch.distributed._composable_state"
_FSDP2_STATE = "FSDPState"
_STEPS_LEAST = 5
NEEDS_WINDOW = "FSDP: needs a profile window"
NOT_COUNTED = "this torch's fully_shard is not known"
TOO_FEW = "too few steps yet"


def read_sharding(older: list[Foreign], counts: ShardingCounts, steps: int) -> FsdpFacts | None:
    """Return what is in force; None without sharding.

    Args:
        older: living FullyShardedDataParallel modules.
        counts: collectives of `fully_shard` so far.
        steps: finished so far.
    """
    return _version_1(older) or _version_2(counts, steps)


def _version_1(units: list[Foreign]) -> FsdpFacts | None:
    if not units:
        return None
    strategy = getattr(units[0], "sharding_strategy", None)
    return FsdpFacts(
        version=1,
        units=len(units),
        sharding=getattr(strategy, "name", None),
        missing={"comm_exposed": NEEDS_WINDOW},
    )


def _version_2(counts: ShardingCounts, steps: int) -> FsdpFacts | None:
    """Find `fully_shard` by the states that torch keeps for it (private): the modules look like any other."""
    module: Foreign = sys.modules.get(_STATES)
    mapping: Foreign = getattr(module, "_module_state_mapping", None)
    if not mapping:
        return None
    kept = [state() if callable(state) else state for state in list(mapping.values())]
    states = [state for state in kept if type(state).__name__ == _FSDP2_STATE]
    if not states:
        return None
    groups = [group for state in states for group in _groups(state)]
    missing = {"comm_exposed": NEEDS_WINDOW}
    gathers = scatters = None
    if counts.installed and steps >= _STEPS_LEAST:
        gathers, scatters = round(counts.all_gathers / steps, 1), round(counts.reduce_scatters / steps, 1)
    else:
        reason = TOO_FEW if counts.installed else NOT_COUNTED
        missing |= {"all_gathers_per_step": reason, "reduce_scatters_per_step": reason}
    return FsdpFacts(
        version=2,
        units=len(states),
        all_gathers_per_step=gathers,
        reduce_scatters_per_step=scatters,
        missing=missing,
        **(_configuration(groups[0]) if groups else {}),
    )


def _groups(state: Foreign) -> list[Foreign]:
    several: list[Foreign] | None = getattr(state, "_fsdp_param_groups", None)
    if several is not None:
        return list(several)
    one = getattr(state, "_fsdp_param_group", None)
    return [] if one is None else [one]


def _configuration(group: Foreign) -> dict[str, Any]:
    """Return what one group of parameters says; torch's names for it are private, so any may be absent."""
    own: dict[str, Any] = dict(vars(group))
    mesh, policy = own.get("mesh_info"), own.get("mp_policy")
    offload = own.get("offload_policy")
    dtype = getattr(policy, "param_dtype", None)
    return {
        "reshard_after_forward": own["post_forward_mesh_info"] is not None
        if "post_forward_mesh_info" in own
        else None,
        "shard_size": getattr(mesh, "shard_mesh_size", None),
        "replicate_size": getattr(mesh, "replicate_mesh_size", None),
        "param_dtype": None if dtype is None else str(dtype).removeprefix("torch."),
        "cpu_offload": None if offload is None else type(offload).__name__ == "CPUOffloadPolicy",
    }
