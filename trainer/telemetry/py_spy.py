"""One look at the Python stacks of another process, by the program py-spy where there is one.

py-spy reads the process's memory from outside; without `--nonblocking` it would stop the process for some
milliseconds. A look takes about 20 ms, half of it on a core.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import msgspec

from perftui.trainer.telemetry.stack_fold import Frame, Stack

_NICENESS = 10
_DEADLINE_S = 5.0
MISSING = "py-spy is not installed, which looks into loader workers: pip install py-spy"
_CAP_SYS_PTRACE = 19
_PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")


class _Frame(msgspec.Struct):
    name: str
    filename: str
    line: int = 0


class _Thread(msgspec.Struct):
    frames: list[_Frame]
    os_thread_id: int | None = None
    thread_name: str | None = None
    active: bool = False


_THREADS = msgspec.json.Decoder(list[_Thread])


def find_py_spy() -> str | None:
    """Return the program: on the PATH, or beside this Python."""
    beside = Path(sys.executable).with_name("py-spy")
    return shutil.which("py-spy") or (str(beside) if os.access(beside, os.X_OK) else None)


def why_unseen() -> str | None:
    """Return why loader workers of this host cannot be looked into, as far as is known without a try."""
    program = find_py_spy()
    if program is None:
        return MISSING
    return None if _scope() in ("", "0") or _may_trace(program) else _refused(program)


def _may_trace(program: str) -> bool:
    """Tell whether this process, or the program by its file, has the capability to look into any other."""
    with contextlib.suppress(OSError):
        held = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
        if held and int(held[1], 16) >> _CAP_SYS_PTRACE & 1:
            return True
    with contextlib.suppress(OSError):
        return bool(os.getxattr(program, "security.capability"))
    return False


def _scope() -> str:
    with contextlib.suppress(OSError):
        return _PTRACE_SCOPE.read_text().strip()
    return ""


def read_dump(text: bytes, pid: int) -> Stack | None:
    """Return the main thread's stack out of what `py-spy dump --json` printed; None where there is none."""
    try:
        threads = _THREADS.decode(text)
    except msgspec.DecodeError:
        return None
    main = [thread for thread in threads if thread.os_thread_id == pid or thread.thread_name == "MainThread"]
    if not main or not main[0].frames:
        return None
    frames = tuple(Frame(frame.name, frame.filename, frame.line) for frame in main[0].frames)
    return Stack(frames, main[0].active)


def why_refused(errors: str, program: str) -> str | None:
    """Return what to do about a missing permission; None when the errors are of another kind."""
    if "Permission" not in errors and "Operation not permitted" not in errors:
        return None
    return _refused(program)


def _refused(program: str) -> str:
    scope = f" (kernel.yama.ptrace_scope is {_scope()})" if _scope() else ""
    return (
        f"py-spy may not look into the loader workers{scope}; allow it with: sudo setcap cap_sys_ptrace=ep "
        f"{program}, or in a container: --cap-add SYS_PTRACE"
    )


class Look:
    """One look going on."""

    def __init__(self, program: str, pid: int) -> None:
        """Begin.

        Raises:
            OSError: the program cannot be started.
        """
        self.pid = pid
        self._files = contextlib.ExitStack()
        # files and no pipes: a pipe that is full would hold up the look until somebody reads
        self._output: IO[bytes] = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self._errors: IO[bytes] = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self._began_s = time.monotonic()
        try:
            self._process = subprocess.Popen(
                [program, "dump", "--nonblocking", "--full-filenames", "--json", "--pid", str(pid)],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._errors,
            )
        except OSError:
            self._files.close()
            raise
        with contextlib.suppress(OSError):  # the training goes first
            os.setpriority(os.PRIO_PROCESS, self._process.pid, _NICENESS)

    @property
    def over(self) -> bool:
        """Whether it has ended; one that hangs is ended."""
        if self._process.poll() is None and time.monotonic() - self._began_s > _DEADLINE_S:
            self._process.kill()
            self._process.wait()
        return self._process.poll() is not None

    def take(self) -> tuple[Stack | None, str]:
        """Return the stack and, where there is none, what py-spy said; ends the look."""
        self.close()
        with self._files:
            self._output.seek(0)
            self._errors.seek(0)
            stack = read_dump(self._output.read(), self.pid)
            return stack, "" if stack else self._errors.read().decode("utf-8", "replace")

    def close(self) -> None:
        """End it without waiting for its answer."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
