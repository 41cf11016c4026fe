"""Somebody on the network who has no key, or one for looking, tries what can be tried. `WAY ADDRESS PORT …`

Prints one JSON document: what came back.
"""

import contextlib
import json
import socket
import sys
import time
from pathlib import Path

import zmq

from perftui.ipc.codec import decode_to_dashboard, decode_to_host, encode
from perftui.ipc.dashboard_messages import Pull, StopCommand
from perftui.ipc.errors import ProtocolError
from perftui.ipc.host_addresses import HostPort
from perftui.ipc.host_messages import HostBeat, HostHello
from perftui.ipc.link_keys import PeerKeys, new_job_key, read_key
from perftui.ipc.messages import PROTOCOL_VERSION
from perftui.ipc.secured_dealer import secured_dealer

_SECONDS = 1.5
_ATTEMPTS = (
    Pull(protocol=PROTOCOL_VERSION),
    StopCommand(command_id="hostile"),
    HostHello(protocol=PROTOCOL_VERSION, host="hostile", run_id="hostile", hub_pid=1),
    HostBeat(sent_ns=1),
)


def _say(peer: "zmq.Socket[bytes]") -> list[str]:
    heard: list[str] = []
    deadline = time.monotonic() + _SECONDS
    with contextlib.suppress(zmq.Again):  # nobody there to take it
        for message in _ATTEMPTS:
            peer.send(encode(message), zmq.NOBLOCK)
    while (left := deadline - time.monotonic()) > 0:
        if peer.poll(int(left * 1000)):
            heard.append(_read(peer.recv()))
    return heard


def _read(frame: bytes) -> str:
    for decode in (decode_to_dashboard, decode_to_host):
        try:
            message = decode(frame)
        except ProtocolError:
            continue
        refused = getattr(message, "accepted", None) is False
        return f"{type(message).__name__}{' refused' if refused else ''}"
    return "unreadable"


def _secured(at: HostPort, keys: PeerKeys) -> list[str]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        return _say(secured_dealer(context, at, keys, 64))
    finally:
        context.destroy(0)


def _plain_zeromq(at: HostPort) -> list[str]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        peer = context.socket(zmq.DEALER)
        peer.connect(f"tcp://{at.host}:{at.port}")
        return _say(peer)
    finally:
        context.destroy(0)


def _raw(at: HostPort, sent: bytes) -> str:
    """Send bytes, and return what comes back beyond the greeting that ZeroMQ opens with."""
    with socket.create_connection((at.host, at.port), timeout=_SECONDS) as wire:
        wire.sendall(sent)
        wire.settimeout(_SECONDS)
        back = b""
        try:
            while part := wire.recv(65536):
                back += part
        except OSError:
            pass
    return back.hex()


def main() -> None:
    way, at = sys.argv[1], HostPort(sys.argv[2], int(sys.argv[3]))
    if way == "plain":
        heard: object = _plain_zeromq(at)
    elif way == "raw":
        body = encode(StopCommand(command_id="hostile"))
        old = b"\x01\x00" + bytes([len(body) + 1]) + b"\x00" + body
        heard = [_raw(at, sent) for sent in (old, b"POST / HTTP/1.1\r\n\r\n" + old, b"\xff" * 4096)]
    elif way == "stranger":  # has somehow the lead's public key, and a key of its own
        known = read_key(Path(sys.argv[4])).peer_keys("watch")
        heard = _secured(at, PeerKeys(new_job_key().peer_keys("host").own, known.lead))
    else:
        heard = _secured(at, read_key(Path(sys.argv[4])).peer_keys(way))  # type: ignore[arg-type]
    sys.stdout.write(json.dumps(heard))


if __name__ == "__main__":
    main()
