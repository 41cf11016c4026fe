"""Which part this host has in a run over several: the lead that the others join, or one that joins it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from perftui.ipc.errors import Refused, UsageError
from perftui.ipc.host_addresses import HostPort, can_listen, host_port, is_loopback, numeric
from perftui.ipc.link_keys import KeyFile, new_job_key, read_key, write_key
from perftui.ipc.places import RunPlaces
from perftui.ipc.run_files import HostsPlan
from perftui.trainer.launch.host_discovery import first_host

KEY_VARIABLE = "PERFTUI_JOB_KEY"
_OWN_KEY = "job.key"
_ANYWHERE = ("0.0.0.0", "::")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class HostsWish:
    """What was asked for on the command line."""

    lead: str | None = None
    """`ADDRESS[:PORT]` of this host: it leads."""
    join: str | None = None
    """`HOST[:PORT]` of the lead: this host joins it."""
    key: Path | None = None


@dataclass(frozen=True)
class HostsLaunch:
    """The plan of one launch; with the key to be written, where it is made for this run."""

    plan: HostsPlan
    made: KeyFile | None = None


def planned(wish: HostsWish, command: Sequence[str], environment: Mapping[str, str]) -> HostsLaunch | None:
    """Return this host's part; None: the run has one host.

    Raises:
        UsageError, Refused: what was asked for cannot be.
    """
    path = wish.key or _key_named_by(environment)
    if wish == HostsWish() and _by_itself(command, environment):
        return None  # the variable stands in the shell, and this run has no other hosts
    if wish.lead is not None and wish.join is not None:
        raise UsageError("--lead and --join exclude each other: one host leads, the others join it")
    if wish.lead is not None:
        key = new_job_key() if path is None else read_key(path)
        plan = _lead(host_port(wish.lead), key, path)
        return HostsLaunch(plan, key if path is None else None)
    if path is None:
        if wish.join is not None:
            raise UsageError(f"--join needs the lead's key: --key FILE, or {KEY_VARIABLE}=FILE")
        return None
    key = read_key(path)
    if wish.join is not None:
        return HostsLaunch(_member(host_port(wish.join), key, path))
    return HostsLaunch(_by_launcher(command, environment, key, path))


def _by_itself(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Tell whether nothing says that there are other hosts, or only a name that no other host can use."""
    found = first_host(command, environment)
    return found is None or found.host in _LOOPBACK


def _key_named_by(environment: Mapping[str, str]) -> Path | None:
    value = environment.get(KEY_VARIABLE)
    if not value:
        return None
    if not Path(value).is_absolute():
        raise UsageError(f"{KEY_VARIABLE}={value} is not an absolute path; set it to one")
    return Path(value)


def _by_launcher(
    command: Sequence[str], environment: Mapping[str, str], key: KeyFile, path: Path
) -> HostsPlan:
    found = first_host(command, environment)
    if found is None:
        raise UsageError(
            "a key, but nothing says which host leads: no torchrun with --rdzv-endpoint or --master-addr, no "
            "SLURM_JOB_NODELIST, no MASTER_ADDR; add --lead ADDRESS on one host and --join HOST on the others"
        )
    address = numeric(found.host)
    if is_loopback(address):
        raise Refused(
            f"{found.host} ({found.told_by}) is {address} here, where no other host comes; "
            "add --lead ADDRESS on this host and --join HOST on the others"
        )
    at = HostPort(found.host)
    here = can_listen(address, 0) is None
    return _lead(at, key, path) if here else _member(at, key, path)


def _lead(at: HostPort, key: KeyFile, path: Path | None) -> HostsPlan:
    key.lead_keys()
    address, port = numeric(at.host), at.port or key.port
    why = can_listen(address, port)
    if why is not None:
        raise Refused(
            f"{HostPort(address, port)} cannot be listened on ({why}); name an address of this host, or "
            "another port, by --lead ADDRESS:PORT"
        )
    return HostsPlan(role="lead", host=address, port=port, key=str(path.absolute()) if path else "")


def _member(at: HostPort, key: KeyFile, path: Path) -> HostsPlan:
    key.peer_keys("host")
    return HostsPlan(role="member", host=at.host, port=at.port or key.port, key=str(path.absolute()))


def with_key_written(launch: HostsLaunch, places: RunPlaces) -> HostsPlan:
    """Return the plan with its key in place.

    Raises:
        Refused: it cannot be written.
    """
    if launch.made is None:
        return launch.plan
    path = places.state / _OWN_KEY
    write_key(path, launch.made)
    return msgspec.structs.replace(launch.plan, key=str(path))


def words_for_others(plan: HostsPlan) -> list[str]:
    """Return what to do on the other hosts, a line each; none where this host is not the lead."""
    if plan.role != "lead":
        return []
    lines = [
        f"this host leads; on each other host: perftui run --join {HostPort(plan.host, plan.port)} "
        f"--key {plan.key} -- CMD"
    ]
    if Path(plan.key).name == _OWN_KEY:
        lines.append(f"{plan.key} must be there too, readable by its owner alone; it ends with this run")
    if plan.host in _ANYWHERE:
        lines.append("it listens on all interfaces, as was asked")
    return lines


def forget_key(plan: HostsPlan | None, places: RunPlaces) -> None:
    """Remove the key that was made for this run, at its end."""
    if plan is not None and Path(plan.key) == places.state / _OWN_KEY:
        Path(plan.key).unlink(missing_ok=True)
