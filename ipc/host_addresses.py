"""Where a lead hub listens: one address and a port, and all interfaces only where that was asked for."""

import ipaddress
import socket
from typing import NamedTuple

from perftui.ipc.errors import UsageError

_PORT_MAX = 65535


class HostPort(NamedTuple):
    """`HOST:PORT` as it was written; port 0: the one that follows from the key."""

    host: str
    port: int = 0

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host


def host_port(text: str) -> HostPort:
    """Read `HOST`, `HOST:PORT`, `[IPv6]` or `[IPv6]:PORT`.

    Raises:
        UsageError: it is none of these.
    """
    host, colon, port = text, "", ""
    if text.startswith("["):
        inside, bracket, rest = text[1:].partition("]")
        host, colon, port = inside, rest[:1], rest[1:]
        if not bracket or colon not in ("", ":"):
            raise UsageError(f"{text!r} is no address; write [IPv6]:PORT")
    elif text.count(":") == 1:
        host, colon, port = text.partition(":")
    if not host or (colon and not (port.isascii() and port.isdigit() and 0 < int(port) <= _PORT_MAX)):
        raise UsageError(f"{text!r} is no address; write HOST or HOST:PORT")
    return HostPort(host, int(port) if port else 0)


def numeric(host: str) -> str:
    """Return the address that a name stands for on this host.

    Raises:
        UsageError: the name is not known here.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(f"{host}: {error.strerror or error}; name a host or its address") from error
    return str(found[0][4][0])


def is_loopback(address: str) -> bool:
    """Tell whether only this host itself can reach a numeric address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def can_listen(address: str, port: int) -> str | None:
    """Say in the system's words why nothing can listen there; None when it can."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((address, port))
        except OSError as error:
            return error.strerror or str(error)
    return None


def tcp_endpoint(address: str, port: int) -> str:
    """Return the address as ZeroMQ writes it."""
    return f"tcp://[{address}]:{port}" if ":" in address else f"tcp://{address}:{port}"
