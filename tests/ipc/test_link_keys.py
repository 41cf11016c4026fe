"""Keys of a job: what follows from them, who may read the file, and what a role's file cannot do."""

import os
from pathlib import Path

import pytest
import zmq
from zmq.utils import z85

from perftui.ipc.errors import Refused, UsageError
from perftui.ipc.host_addresses import HostPort, can_listen, host_port, numeric
from perftui.ipc.link_keys import KeyFile, new_job_key, read_key, write_key


def test_all_holders_of_a_job_key_compute_the_same(tmp_path: Path) -> None:
    key = new_job_key()
    write_key(tmp_path / "job.key", key)
    again = read_key(tmp_path / "job.key")
    assert again == key
    assert again.port == key.port
    assert again.lead_keys() == key.lead_keys()
    assert new_job_key().lead_keys() != key.lead_keys()


def test_each_role_has_a_pair_of_its_own_that_the_lead_knows() -> None:
    key = new_job_key()
    lead = key.lead_keys()
    assert sorted(lead.roles.values()) == ["command", "host", "watch"]
    for role in ("host", "command", "watch"):
        peer = key.peer_keys(role)
        assert peer.lead == lead.own.public
        assert lead.roles[z85.decode(peer.own.public)] == role
        assert zmq.curve_public(peer.own.secret) == peer.own.public


def test_a_key_for_looking_does_nothing_else(tmp_path: Path) -> None:
    job = new_job_key()
    write_key(tmp_path / "watch.key", job.for_role("watch"))
    watch = read_key(tmp_path / "watch.key")
    assert watch.peer_keys("watch") == job.peer_keys("watch")
    assert watch.port == job.port
    assert job.secret not in (tmp_path / "watch.key").read_bytes()
    assert job.secret.hex() not in (tmp_path / "watch.key").read_text()
    for refused in (
        lambda: watch.peer_keys("command"),
        lambda: watch.peer_keys("host"),
        watch.lead_keys,
        lambda: watch.for_role("command"),
    ):
        with pytest.raises(Refused):
            refused()


def test_a_key_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "job.key"
    before = os.umask(0)
    try:
        write_key(path, new_job_key())
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Refused, match="there already"):
        write_key(path, new_job_key())
    path.chmod(0o640)
    with pytest.raises(Refused, match="mode 0640"):
        read_key(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "perftui key 1\n",
        "perftui key 1\nrole job\nsecret 00\n",
        "perftui key 1\nrole king\nsecret " + "00" * 32,
        "perftui key 1\nrole watch\nsecret " + "00" * 32,
        "perftui key 2\nrole job\nsecret " + "00" * 32,
        "perftui key 1\nrole job\nsecret " + "zz" * 32,
        "\u00e4",
    ],
)
def test_what_is_no_key_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.key"
    path.touch(0o600)
    path.write_text(text)
    with pytest.raises(UsageError, match="no key"):
        read_key(path)


def test_a_key_is_never_printed() -> None:
    key = new_job_key()
    for shown in (repr(key), repr(key.for_role("watch")), repr(key.lead_keys()), repr(key.peer_keys("host"))):
        for secret in (key.secret, key.for_role("watch").secret):
            assert secret.hex() not in shown
            assert repr(secret)[2:-1] not in shown
        for pair in (key.lead_keys().own, key.peer_keys("host").own):
            assert pair.secret.decode() not in shown


def test_a_known_secret_gives_a_known_port() -> None:
    assert KeyFile(bytes(32)).port == KeyFile(bytes(32)).for_role("watch").port
    assert 20000 <= KeyFile(bytes(32)).port < 32000


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("node1", HostPort("node1", 0)),
        ("node1:81", HostPort("node1", 81)),
        ("[fe80::1]", HostPort("fe80::1", 0)),
        ("[::1]:9", HostPort("::1", 9)),
        ("fe80::1", HostPort("fe80::1", 0)),
    ],
)
def test_addresses(text: str, meant: HostPort) -> None:
    assert host_port(text) == meant


@pytest.mark.parametrize("text", ["", ":1", "a:", "a:0", "a:x", "a:65536", "[::1", "[::1]x", "a:²"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        host_port(text)


def test_where_a_host_can_listen() -> None:
    assert can_listen("127.0.0.1", 0) is None
    assert can_listen("192.0.2.1", 0) is not None  # a network for documentation (RFC 5737)
    assert numeric("127.0.0.1") == "127.0.0.1"
    assert str(HostPort("::1", 9)) == "[::1]:9"
