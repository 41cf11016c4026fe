"""The keys of a job that runs on several hosts: one file for its hosts, others for those who may only look.

A job's secret has 32 random bytes, and every key pair of the job follows from it: the lead hub's, that of
the hubs that join it, that of a dashboard that may command, that of one that may not. Whoever holds the job's
file may do all of it; a `watch` or `command` file holds one pair, from which the others cannot be computed.
CURVE (https://rfc.zeromq.org/spec/26) encrypts each connection under a fresh key of its own, so that a file
which becomes known later does not open what was recorded on the wire.

pyzmq is imported where a pair is made: a training that knows of no key needs none.
"""

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from perftui.ipc.errors import Refused, UsageError

Role: TypeAlias = Literal["host", "command", "watch"]
"""What the holder of a key may do at the lead: join as a hub; look and command; look."""
ROLES: tuple[Role, ...] = ("host", "command", "watch")
_FIRST_LINE = "perftui key 1"
_SECRET_BYTES = 32
_FILE_MAX = 4096
_PORTS = range(20000, 32000)
"""Below the ports that systems give to outgoing connections."""


@dataclass(frozen=True)
class KeyPair:
    """A CURVE pair in Z85, as ZeroMQ takes it. Never printed."""

    public: bytes
    secret: bytes

    def __repr__(self) -> str:
        return f"KeyPair({self.public!r})"


@dataclass(frozen=True)
class LeadKeys:
    """What the lead hub needs: its own pair, and who may come."""

    own: KeyPair
    roles: dict[bytes, Role]
    """Public key (32 bytes) → what its holder may do."""


@dataclass(frozen=True)
class PeerKeys:
    """What a peer needs: its own pair, and the lead's public key."""

    own: KeyPair
    lead: bytes


@dataclass(frozen=True)
class KeyFile:
    """What a key file holds."""

    secret: bytes
    """32 bytes: of the job, or of one role's pair."""
    role: Role | None = None
    """None: the job's own file."""
    lead: bytes | None = None
    """The lead's public key (Z85), in the file of a role."""

    def __repr__(self) -> str:
        return f"KeyFile(role={self.role!r})"

    def lead_keys(self) -> LeadKeys:
        """Return what the lead needs.

        Raises:
            Refused: this is not the job's own file.
        """
        if self.role is not None:
            raise Refused(f"a {self.role} key cannot lead a run: give the job's key file")
        pairs = {role: _derived(self.secret, role) for role in ROLES}
        return LeadKeys(
            _derived(self.secret, "lead"), {_from_z85(pairs[role].public): role for role in ROLES}
        )

    def peer_keys(self, role: Role) -> PeerKeys:
        """Return what a peer of that role needs.

        Raises:
            Refused: the file is of another role.
        """
        if self.role is None:
            return PeerKeys(_derived(self.secret, role), _derived(self.secret, "lead").public)
        if self.role != role or self.lead is None:
            raise Refused(f"this key is for {self.role}, not for {role}: ask for the right one")
        return PeerKeys(_pair(self.secret), self.lead)

    def for_role(self, role: Role) -> "KeyFile":
        """Return what the file of one role alone holds.

        Raises:
            Refused: this is not the job's own file.
        """
        if self.role is not None:
            raise Refused(f"a {self.role} key makes no others: give the job's key file")
        return KeyFile(_role_secret(self.secret, role), role, _derived(self.secret, "lead").public)

    @property
    def port(self) -> int:
        """The port of the lead where none is named: all who hold a key of the job compute the same."""
        lead = self.lead or _derived(self.secret, "lead").public
        return _PORTS[int.from_bytes(hashlib.blake2b(lead, digest_size=4).digest(), "big") % len(_PORTS)]


def new_job_key() -> KeyFile:
    """Return the key of a new job."""
    return KeyFile(secrets.token_bytes(_SECRET_BYTES))


def _role_secret(secret: bytes, name: str) -> bytes:
    return hashlib.blake2b(key=secret, digest_size=_SECRET_BYTES, person=f"perftui {name}".encode()).digest()


def _derived(secret: bytes, name: str) -> KeyPair:
    return _pair(_role_secret(secret, name))


def _pair(secret: bytes) -> KeyPair:
    from zmq import curve_public

    encoded = _in_z85(secret)
    return KeyPair(curve_public(encoded), encoded)


def _in_z85(data: bytes) -> bytes:
    from zmq.utils import z85

    return z85.encode(data)


def _from_z85(text: bytes) -> bytes:
    from zmq.utils import z85

    return z85.decode(text)


def write_key(path: Path, key: KeyFile) -> None:
    """Write a key file that only its owner can read; one that is there already stays.

    Raises:
        Refused: it exists, or cannot be written.
    """
    lines = [_FIRST_LINE, f"role {key.role or 'job'}", f"secret {key.secret.hex()}"]
    if key.lead is not None:
        lines.append(f"lead {_from_z85(key.lead).hex()}")
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise Refused(f"{path} is there already; a key is not written over") from None
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror})") from error
    with os.fdopen(handle, "w", encoding="ascii") as stream:
        os.fchmod(stream.fileno(), 0o600)  # whatever the umask
        stream.write("\n".join(lines) + "\n")


def read_key(path: Path) -> KeyFile:
    """Read a key file.

    Raises:
        UsageError: it cannot be read, or is no key.
        Refused: others can read it, or it belongs to another user.
    """
    try:
        with path.open("rb") as stream:
            found = os.fstat(stream.fileno())
            text = stream.read(_FILE_MAX)
    except OSError as error:
        raise UsageError(f"key file {path}: {error.strerror}") from error
    if found.st_uid not in (os.getuid(), 0):
        raise Refused(f"key file {path} belongs to another user")
    if found.st_mode & 0o077:
        raise Refused(
            f"key file {path} can be read by others (mode {found.st_mode & 0o777:04o}); chmod 600 it"
        )
    key = _parsed(text)
    if key is None:
        raise UsageError(f"{path} is no key of perftui; `perftui key FILE` makes one")
    return key


def _parsed(data: bytes) -> KeyFile | None:
    try:
        first, *rest = data.decode("ascii").split("\n")
        fields = dict(line.split(" ", 1) for line in rest if line)
        secret = bytes.fromhex(fields["secret"])
        lead = bytes.fromhex(fields["lead"]) if "lead" in fields else None
    except (ValueError, KeyError):
        return None
    role = next((each for each in ROLES if each == fields.get("role")), None)
    job = fields.get("role") == "job"
    if first != _FIRST_LINE or len(secret) != _SECRET_BYTES or job == (role is not None):
        return None
    if job:
        return KeyFile(secret)
    return KeyFile(secret, role, _in_z85(lead)) if lead and len(lead) == _SECRET_BYTES else None
