"""Two Unix users beside the one that runs the tests: real ones, without an account; needs root.

Where this Python lies in a folder that others may not enter (root's home, say), they get it in a mount
namespace in which that folder holds nothing else.
"""

import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from perftui.ipc.places import TEMPORARY

OWNER, STRANGER = 61_001, 61_002
_OPEN_THE_DOOR = """
set -e
mount --make-rprivate /
mount --bind "$1" /mnt
mount -t tmpfs -o mode=755 none "$2"
mkdir -p "$1"
mount --move /mnt "$1"
shift 2
exec "$@"
"""


@cache
def _door() -> list[str]:
    """Return the words that make this Python reachable for the command that follows; none where it is."""
    inside = Path(sys.base_prefix).resolve()
    closed = [each for each in inside.parents if not each.stat().st_mode & stat.S_IXOTH]
    if not closed:
        return []
    return ["unshare", "--mount", "sh", "-c", _OPEN_THE_DOOR, "sh", str(inside), str(closed[-1])]


def _as_user(uid: int, command: Sequence[str]) -> list[str]:
    become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    return [*_door(), *become, "sh", "-c", 'umask 022; exec "$@"', "sh", *command]


@dataclass(frozen=True)
class User:
    """One of them, with a folder of its own and a temporary folder that all share."""

    uid: int
    home: Path
    shared: Path

    @property
    def runtime(self) -> Path:
        """Where sockets are when nothing else is said."""
        return TEMPORARY / f"perftui-{self.uid}"

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PERFTUI_", "XDG_"))
        }
        return {**kept, "HOME": str(self.home), "TMPDIR": str(self.shared), "LOGNAME": "user", **more}

    def run(
        self, command: Sequence[str], timeout: float = 120.0, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            _as_user(self.uid, command),
            cwd=self.home,
            env=self.environment(more),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, command: Sequence[str], **more: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            _as_user(self.uid, command),
            cwd=self.home,
            env=self.environment(more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def python(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return self.run([sys.executable, "-c", program, *arguments])


def made_user(uid: int, folder: Path, shared: Path) -> User:
    """Make a user's folder, private as homes are."""
    home = folder / f"home-{uid}"
    home.mkdir(mode=0o700)
    os.chown(home, uid, uid)
    return User(uid, home, shared)


def clear_runtime() -> None:
    """Remove what the users, or who stood in their way, have left where sockets are."""
    for uid in (OWNER, STRANGER):
        for left in TEMPORARY.glob(f"perftui-{uid}*"):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink()


def why_not() -> str | None:
    """Return why there can be no second user here; None when there can."""
    if os.getuid() != 0:
        return "only root can become another user"
    for uid in (OWNER, STRANGER):
        try:
            pwd.getpwuid(uid)
        except KeyError:
            continue
        return f"uid {uid} is somebody's here"
    if shutil.which("setpriv") is None or shutil.which("unshare") is None:
        return "no setpriv or unshare (util-linux) here"
    command = _as_user(OWNER, [sys.executable, "-c", "import perftui.tui.cli, torch"])
    seen = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    return None if seen.returncode == 0 else f"another user cannot start this Python: {seen.stderr[-200:]}"
