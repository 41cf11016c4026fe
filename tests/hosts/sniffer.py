"""Writes every frame that passes this network to a file until its standard input ends: a tapped wire."""

import select
import socket
import sys
from pathlib import Path

_ALL = 0x0003


def main() -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL)) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        sys.stdout.write("tapped\n")
        sys.stdout.flush()
        with Path(sys.argv[1]).open("wb") as out:
            while True:
                ready, _, _ = select.select([wire, sys.stdin], [], [])
                if wire in ready:
                    out.write(wire.recv(65535))
                    out.flush()
                elif not sys.stdin.readline():
                    return


if __name__ == "__main__":
    main()
