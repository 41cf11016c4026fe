"""Two Unix users beside the one that runs the tests: real ones, without an account; needs root."""

import os
import pwd
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

OWNER, STRANGER = 61_001, 61_002
_ROOMS = Path(__file__).parents[2]


@dataclass(frozen=True)
class User:
    """One of them, with a folder of its own and a temporary folder that all share."""

    uid: int
    home: Path
    shared: Path

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PERFTUI_", "XDG_"))
        }
        return {**kept, "HOME": str(self.home), "TMPDIR": str(self.shared), "LOGNAME": "user", **more}

    def run(
        self, command: Sequence[str], timeout: float = 120.0, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            user=self.uid,
            group=self.uid,
            extra_groups=[],
            umask=0o022,
            cwd=self.home,
            env=self.environment(more),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, command: Sequence[str], **more: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command,
            user=self.uid,
            group=self.uid,
            extra_groups=[],
            umask=0o022,
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
    program = "import perftui.tui.cli, torch"
    try:
        seen = subprocess.run(
            [sys.executable, "-c", program], user=OWNER, group=OWNER, extra_groups=[], cwd="/", check=False,
            capture_output=True,
        )  # fmt: skip
    except OSError as error:
        return f"another user cannot start this Python: {error}"
    return None if seen.returncode == 0 else "another user cannot read perftui and torch here"
