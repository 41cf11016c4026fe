"""The rank's own ZMTP: against libzmq itself, whatever the size, and against peers that are none."""

import socket
from collections.abc import Iterator

import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st

from perftui.ipc.zmtp import NotZmtp, ZmtpReader, greeting, message_frame, ready
from tests.conftest import RuntimeDirs

SIZES = [0, 1, 254, 255, 256, 65_535, 65_536, 3_000_000]
MOST = 4_000_000


@pytest.fixture
def router(runtime_dirs: RuntimeDirs) -> Iterator[tuple["zmq.Socket[bytes]", str]]:
    context = zmq.Context()
    made = context.socket(zmq.ROUTER)
    made.setsockopt(zmq.LINGER, 0)
    made.setsockopt(zmq.RCVTIMEO, 20_000)
    path = str(runtime_dirs.runtime / "router")
    made.bind(f"ipc://{path}")
    yield made, path
    made.close(0)
    context.term()


def connected(path: str, identity: str) -> tuple[socket.socket, ZmtpReader]:
    made, reader = socket.socket(socket.AF_UNIX), ZmtpReader(MOST)
    made.settimeout(20)
    made.connect(path)
    made.sendall(greeting() + ready(identity))
    while not reader.ready:
        assert reader.feed(made.recv(65536)) == []
    return made, reader


@pytest.fixture
def peer(router: tuple["zmq.Socket[bytes]", str]) -> Iterator[tuple[socket.socket, ZmtpReader]]:
    made, reader = connected(router[1], "r7.42")
    yield made, reader
    made.close()


def _read(peer: tuple[socket.socket, ZmtpReader]) -> bytes:
    while True:
        data = peer[0].recv(65536)
        assert data, "closed"
        for body in peer[1].feed(data):
            return body


def test_libzmq_hears_and_is_heard(
    router: tuple["zmq.Socket[bytes]", str], peer: tuple[socket.socket, ZmtpReader]
) -> None:
    bodies = [bytes([number]) * size for number, size in enumerate(SIZES)]
    for body in bodies:
        peer[0].sendall(message_frame(body))
        assert router[0].recv_multipart() == [b"r7.42", body]
    for body in bodies:
        router[0].send_multipart([b"r7.42", body])
        assert _read(peer) == body


def test_messages_of_several_parts_are_passed_over(
    router: tuple["zmq.Socket[bytes]", str], peer: tuple[socket.socket, ZmtpReader]
) -> None:
    peer[0].sendall(message_frame(b"hello"))
    router[0].recv_multipart()
    router[0].send_multipart([b"r7.42", b"a", b"", b"c"])
    router[0].send_multipart([b"r7.42", b"whole"])
    assert _read(peer) == b"whole"


def test_a_ping_is_answered(runtime_dirs: RuntimeDirs) -> None:
    """By a hub that asks whether its peers live: without an answer libzmq closes the connection."""
    context = zmq.Context()
    asks = context.socket(zmq.ROUTER)
    asks.setsockopt(zmq.LINGER, 0)
    asks.setsockopt(zmq.HEARTBEAT_IVL, 20)
    path = str(runtime_dirs.runtime / "router")
    asks.bind(f"ipc://{path}")
    peer, reader = connected(path, "r0.1")
    try:
        reader.feed(b"\x04\x09\x04PING\0\x0aab")  # libzmq pings only peers that say 3.1
        assert reader.answers == [b"\x04\x07\x04PONGab"]
        peer.sendall(reader.answers[0] + message_frame(b"still here"))
        assert asks.recv_multipart() == [b"r0.1", b"still here"]
    finally:
        peer.close()
        asks.close(0)
        context.term()


@given(st.lists(st.binary(max_size=600), max_size=8), st.data())
def test_where_the_bytes_are_cut_makes_no_difference(bodies: list[bytes], data: st.DataObject) -> None:
    stream = greeting() + ready("hub") + b"".join(map(message_frame, bodies))
    reader = ZmtpReader(MOST)
    found: list[bytes] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += reader.feed(stream[:size])
        stream = stream[size:]
    assert found == bodies


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        (b"HTTP/1.1 400 Bad Request", "does not begin"),
        (b"\xff\0\0\0\0\0\0\0\0\x01", "does not begin"),
        (greeting().replace(b"\x03\0NULL", b"\x03\0CURVE"[:6]), "mechanism"),
        (greeting().replace(b"\x7f\x03", b"\x7f\x02"), "ZMTP 2"),
        (greeting() + b"\x02" + (MOST + 1).to_bytes(8, "big"), "a frame of 4000001 bytes"),
        (greeting() + b"\x04\x0d\x05ERROR\x06denied", "denied"),
    ],
)
def test_who_is_no_hub_is_left(stream: bytes, words: str) -> None:
    with pytest.raises(NotZmtp, match=words):
        ZmtpReader(MOST).feed(stream)


@given(st.binary(max_size=200))
def test_nonsense_never_ends_in_another_error(noise: bytes) -> None:
    reader = ZmtpReader(MOST)
    try:
        reader.feed(greeting())
        reader.feed(noise)
    except NotZmtp:
        return
    assert len(reader.answers) <= len(noise)
