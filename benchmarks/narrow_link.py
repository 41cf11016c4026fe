"""A narrow, slow link between two network namespaces, to try the dashboard over it: needs root, no netem.

`python benchmarks/narrow_link.py --bytes-per-s 20000 --delay-ms 100` makes the namespaces `near` (10.77.0.1)
and `far` (10.77.0.2) and carries packets between them until it is interrupted: each way at most so many bytes
a second, each packet so late, and lost where the queue is full. `ip netns exec far ssh 10.77.0.1` then is an
SSH session over such a link, with an sshd that was started by `ip netns exec near`.
"""

import argparse
import fcntl
import os
import selectors
import struct
import subprocess
import sys
import time
from collections import deque

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_PACKET = 2048
_ENDS = (("near", "10.77.0.1"), ("far", "10.77.0.2"))


class OneWay:
    """Packets in one direction: the line is busy for a packet's bytes, and then the packet travels."""

    def __init__(self, bytes_per_s: float, delay_s: float, queue_bytes: int) -> None:
        self._bytes_per_s, self._delay_s, self._queue_bytes = bytes_per_s, delay_s, queue_bytes
        self._free_s = 0.0
        self._under_way: deque[tuple[float, bytes]] = deque()
        self.carried = self.lost = 0

    def take(self, packet: bytes, now: float) -> None:
        """Send a packet, or lose it."""
        if (self._free_s - now) * self._bytes_per_s > self._queue_bytes:
            self.lost += 1
            return
        self._free_s = max(self._free_s, now) + len(packet) / self._bytes_per_s
        self._under_way.append((self._free_s + self._delay_s, packet))
        self.carried += len(packet)

    def due(self, now: float) -> list[bytes]:
        """Return what has arrived."""
        arrived: list[bytes] = []
        while self._under_way and self._under_way[0][0] <= now:
            arrived.append(self._under_way.popleft()[1])
        return arrived

    def next_s(self) -> float | None:
        """Return when the next packet arrives."""
        return self._under_way[0][0] if self._under_way else None


def end_of_link(name: str, address: str) -> int:
    """Make a namespace with one end of the link in it; return what its packets are read from."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    interface = f"pt-{name}"
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", interface.encode(), _IFF_TUN | _IFF_NO_PI))
    for words in (
        f"ip netns add {name}",
        f"ip link set {interface} netns {name}",
        f"ip -n {name} address add {address}/24 dev {interface}",
        f"ip -n {name} link set {interface} mtu 1500 up",
        f"ip -n {name} link set lo up",
    ):
        subprocess.run(words.split(), check=True)
    return device


def carry(devices: list[int], ways: list[OneWay]) -> None:
    """Carry packets until interrupted."""
    selector = selectors.DefaultSelector()
    for device in devices:
        selector.register(device, selectors.EVENT_READ)
    while True:
        arrivals = [due_s for way in ways if (due_s := way.next_s()) is not None]
        wait_s = max(0.0, min(arrivals) - time.monotonic()) if arrivals else None
        for key, _ in selector.select(wait_s):
            ways[devices.index(key.fd)].take(os.read(key.fd, _PACKET), time.monotonic())
        for at, way in enumerate(ways):
            for packet in way.due(time.monotonic()):
                os.write(devices[1 - at], packet)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bytes-per-s", type=float, default=20_000)
    parser.add_argument("--delay-ms", type=float, default=100, help="one way")
    parser.add_argument("--queue-bytes", type=int, default=64_000, help="in front of the link")
    asked = parser.parse_args()
    ways = [OneWay(asked.bytes_per_s, asked.delay_ms / 1000, asked.queue_bytes) for _ in _ENDS]
    try:
        carry([end_of_link(*each) for each in _ENDS], ways)
    except KeyboardInterrupt:
        for (name, _), way in zip(_ENDS, ways, strict=True):
            sys.stdout.write(f"from {name}: {way.carried:,} bytes, {way.lost} packets lost\n")
    finally:
        for name, _ in _ENDS:
            subprocess.run(["ip", "netns", "del", name], check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
