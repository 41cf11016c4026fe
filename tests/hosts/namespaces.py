"""Hosts made of namespaces: each with a network, a name and processes of its own, joined by a switch.

Linux only, and root's: `available` says what is missing.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_NETWORK = "10.177.0"
_INIT = """
import signal, socket, subprocess, sys
subprocess.run(["mount", "--bind", sys.argv[2], "/etc/hosts"], check=True)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as pid 1 it has orphans, and leaves no zombies
socket.sethostname(sys.argv[1])
print("up", flush=True)
sys.stdin.read()
"""


def available() -> str | None:
    """Say why no such hosts can be made here; None when they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "nsenter", "unshare"):
        if shutil.which(tool) is None:
            return f"no program {tool} (packages iproute2 and util-linux)"
    trial = f"pt-{secrets.token_hex(3)}"
    if subprocess.run(["ip", "netns", "add", trial], capture_output=True, check=False).returncode:
        return "network namespaces cannot be made here"
    subprocess.run(["ip", "netns", "del", trial], check=False)
    return None


def _ip(*words: str, inside: str | None = None) -> None:
    where = ["ip", "-n", inside] if inside else ["ip"]
    subprocess.run([*where, *words], check=True, capture_output=True)


@dataclass
class Host:
    """One host; processes in it end with it."""

    name: str
    address: str
    namespace: str
    port: str
    """Its end of the cable in the switch."""
    switch: str
    folder: Path
    runtime: Path
    init: int = 0
    _up: "subprocess.Popen[bytes] | None" = None
    _started: list["subprocess.Popen[str]"] = field(default_factory=list["subprocess.Popen[str]"])

    def boot(self) -> None:
        inside = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self._up = subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                self.namespace,
                *inside,
                sys.executable,
                "-c",
                _INIT,
                self.name,
                str(self.names),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._up.stdout is not None
        assert self._up.stdout.readline() == b"up\n"
        self.init = int(Path(f"/proc/{self._up.pid}/task/{self._up.pid}/children").read_text().split()[0])

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def names(self) -> Path:
        """Its /etc/hosts."""
        return self.folder / "hosts"

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PERFTUI_RUNTIME_DIR": str(self.runtime),
            "XDG_STATE_HOME": str(self.state),
            "GLOO_SOCKET_IFNAME": "eth0",
            "OMP_NUM_THREADS": "1",
        }

    def start(
        self, command: Sequence[str | Path], *, log: str | None = None, **more: str
    ) -> "subprocess.Popen[str]":
        """Start a command on this host; its output goes to a file where `log` names one."""
        inside = ["nsenter", "-t", str(self.init), "--net", "--uts", "--pid", "--mount"]
        inside += [
            "sh",
            "-c",
            'cd "$0" && exec "$@"',
            str(self.folder),
        ]  # another mount namespace begins at /
        with contextlib.ExitStack() as files:
            out = files.enter_context((self.folder / log).open("ab")) if log else subprocess.PIPE
            process = subprocess.Popen(
                [*inside, *map(str, command)],
                cwd=self.folder,
                env={**self.environment(), **more},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT if log else subprocess.PIPE,
                text=True,
            )
        self._started.append(process)
        return process

    def run(
        self, command: Sequence[str | Path], timeout: float = 60.0, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        process = self.start(command, **more)
        out, errors = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(command, process.returncode, out, errors)

    def plug(self, *, into: bool) -> None:
        """Pull this host's cable out of the switch, or plug it in again."""
        _ip("link", "set", self.port, "up" if into else "down", inside=self.switch)

    def down(self) -> None:
        """Switch the host off: every process on it is killed."""
        if self._up is not None:
            self._up.kill()
            for stream in (self._up.stdin, self._up.stdout):
                if stream is not None:
                    stream.close()
            self._up.wait()
            self._up = None
        for process in self._started:
            process.wait(10.0)
            for output in (process.stdout, process.stderr):
                if output is not None:
                    output.close()


@dataclass
class Hosts:
    """Some hosts and the switch between them."""

    switch: str
    hosts: list[Host] = field(default_factory=list[Host])

    def __getitem__(self, number: int) -> Host:
        return self.hosts[number]


@contextlib.contextmanager
def some_hosts(count: int, folder: Path, runtime: Path) -> Generator[Hosts, None, None]:
    """Make hosts `h1`, `h2`, … with the addresses 10.177.0.1, …; they are gone afterwards."""
    token = secrets.token_hex(2)
    made = Hosts(f"pt{token}-switch")
    names = [made.switch]
    every = range(1, count + 1)
    names_of_all = "".join(f"{_NETWORK}.{number} h{number}\n" for number in every) + "127.0.0.1 localhost\n"
    try:
        _ip("netns", "add", made.switch)
        _ip("link", "add", "bridge", "type", "bridge", inside=made.switch)
        _ip("link", "set", "bridge", "up", inside=made.switch)
        for number in every:
            namespace, port = f"pt{token}-h{number}", f"port{number}"
            names.append(namespace)
            _ip("netns", "add", namespace)
            _ip(
                "link",
                "add",
                "eth0",
                "netns",
                namespace,
                "type",
                "veth",
                "peer",
                "name",
                port,
                "netns",
                made.switch,
            )
            _ip("link", "set", port, "master", "bridge", inside=made.switch)
            _ip("link", "set", port, "up", inside=made.switch)
            _ip("addr", "add", f"{_NETWORK}.{number}/24", "dev", "eth0", inside=namespace)
            _ip("link", "set", "eth0", "up", inside=namespace)
            _ip("link", "set", "lo", "up", inside=namespace)
            own, sockets = folder / f"h{number}", runtime / f"h{number}"
            for each in (own, sockets):
                each.mkdir(mode=0o700)
            host = Host(f"h{number}", f"{_NETWORK}.{number}", namespace, port, made.switch, own, sockets)
            made.hosts.append(host)
            host.names.write_text(names_of_all)
            host.boot()
        yield made
    finally:
        for host in made.hosts:
            host.down()
        _delete(names)


def _delete(names: list[str]) -> None:
    deadline = time.monotonic() + 10.0
    for name in names:
        while subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False).returncode:
            if time.monotonic() > deadline or not Path("/run/netns", name).exists():
                break
            time.sleep(0.1)
