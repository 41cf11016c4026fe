"""Who this process is: rank, world, pid with start time, command.

Read from torch.distributed, else from the environment of the known launchers.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_ARGUMENTS_KEPT = 64
_ARGUMENT_KEPT = 400


@dataclass(frozen=True)
class Identity:
    """A rank's place in its job."""

    rank: int = 0
    local_rank: int = 0
    world_size: int = 1
    known: bool = False
    """False when nothing named a rank."""


_LAUNCHERS = (
    ("RANK", "LOCAL_RANK", "WORLD_SIZE", None),  # torchrun
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", None),
    ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_STEP_ID"),  # a batch script has the first alone
    ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", None),
)


def from_environment(environment: Mapping[str, str]) -> Identity:
    """Return what a launcher's variables say; rank 0 of 1, not known, when there are none."""
    for rank_name, local_name, world_name, needed in _LAUNCHERS:
        rank = _number(environment.get(rank_name))
        if rank is None or (needed is not None and needed not in environment):
            continue
        world = _number(environment.get(world_name))
        local = _number(environment.get(local_name))
        return Identity(rank, rank if local is None else local, world or rank + 1, known=True)
    return Identity()


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def read_identity() -> Identity:
    """Return this process's place as it is known now: it may become known later."""
    named = from_environment(os.environ)
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return named
    rank = int(distributed.get_rank())
    local = named.local_rank if named.known and named.rank == rank else rank
    return Identity(rank, local, int(distributed.get_world_size()), known=True)


def start_ticks() -> int:
    """Return field 22 of /proc/self/stat: with the pid it names this process for good."""
    text = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace")
    return int(text.rpartition(")")[2].split()[19])


def pid_namespace() -> int | None:
    """Return what names this process's namespace of pids; None where the system does not tell."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return None


def command() -> list[str]:
    """Return the command line of this process, bounded."""
    return [argument[:_ARGUMENT_KEPT] for argument in sys.orig_argv[:_ARGUMENTS_KEPT]]
