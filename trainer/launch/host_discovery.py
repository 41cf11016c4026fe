"""Where the first host of a job is, by what its launcher says already. Pure.

torchrun has it among its words (or in `PET_…` variables, which it reads in their place), SLURM in its list of
hosts, others set MASTER_ADDR.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perftui.ipc.torchrun_words import torchrun_option

_GROUP = re.compile(r"\[([^\]]*)\]")
_RANGE_OR_NEXT = re.compile(r"[-,]")


class FirstHost(NamedTuple):
    """A host's name or address, and who says so."""

    host: str
    told_by: str


def first_host(command: Sequence[str], environment: Mapping[str, str]) -> FirstHost | None:
    """Return the job's first host; None where nothing tells it."""
    endpoint = torchrun_option(command, "rdzv-endpoint") or environment.get("PET_RDZV_ENDPOINT")
    if endpoint:
        return FirstHost(_without_port(endpoint), "the rendezvous endpoint")
    address = torchrun_option(command, "master-addr") or environment.get("PET_MASTER_ADDR")
    if address:
        return FirstHost(address, "torchrun's master address")
    hosts = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST")
    if hosts:
        return FirstHost(first_of(hosts), "SLURM's list of hosts")
    address = environment.get("MASTER_ADDR")
    return FirstHost(address, "MASTER_ADDR") if address else None


def first_of(hosts: str) -> str:
    """Return the first host of a SLURM host list, as in `node[04-07,12],login1`."""
    depth = 0
    for at, letter in enumerate(hosts):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            hosts = hosts[:at]
            break
    return _GROUP.sub(lambda group: _RANGE_OR_NEXT.split(group[1])[0], hosts)


def _without_port(endpoint: str) -> str:
    if endpoint.startswith("["):
        return endpoint[1:].partition("]")[0]
    host, colon, port = endpoint.rpartition(":")
    return host if colon and port.isdigit() and ":" not in host else endpoint
