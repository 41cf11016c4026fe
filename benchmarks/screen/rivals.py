"""nvitop and TraceML's live panels in the same terminal, measured the same way, where they can run."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec

from benchmarks.screen.cells import Plan
from benchmarks.screen.records import Row, spread
from benchmarks.screen.terminal import ENVIRONMENT, RecordedTerminal, cpu_s, family, resident_mib

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_Own: TypeAlias = Callable[[list[int]], list[int]]
"""Of all processes those that are the program's own, and not the training's."""
_START_S = 60.0
_SETTLE_S = 8.0
_SAMPLES = 10
_LOOP = """\
import time
import torch
import traceml_ai
traceml_ai.init(mode="auto")
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(32, 256)
ends = time.monotonic() + {seconds}
while time.monotonic() < ends:
    with traceml_ai.trace_step(model):
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()
    time.sleep(0.19)
"""
"""About five steps a second, as the simulated ranks do; the training's own CPU time is not counted."""


def measure_rivals(folder: Path, columns: int, lines: int, plan: Plan) -> list[Row]:
    """Measure each rival that lies in a folder of programs."""
    return [_nvitop(folder, columns, lines, plan), _traceml(folder, columns, lines, plan)]


def _nvitop(folder: Path, columns: int, lines: int, plan: Plan) -> Row:
    program = folder / "nvitop"
    base = Row(program="nvitop", version=_version(folder, "nvitop"), ranks=1, size=f"{columns}x{lines}")
    if not program.exists():
        return _noted(base, "not installed")
    terminal = RecordedTerminal([str(program), "--monitor", "full"], columns, lines, _environ())
    return _watched(base, terminal, plan, lambda pids: pids)


def _traceml(folder: Path, columns: int, lines: int, plan: Plan) -> Row:
    base = Row(program="traceml", version=_version(folder, "traceml-ai"), ranks=1, size=f"{columns}x{lines}")
    if not (folder / "python").exists() or not (folder / "traceml").exists():
        return _noted(base, "not installed")
    work = Path(tempfile.mkdtemp(prefix="traceml-"))
    try:
        script = work / "train.py"
        script.write_text(_LOOP.format(seconds=plan.seconds + _SETTLE_S + _START_S))
        command = [
            str(folder / "python"),
            "-m",
            "traceml_ai.launcher.cli",
            "run",
            str(script),
            "--mode",
            "cli",
        ]
        terminal = RecordedTerminal(command, columns, lines, _environ(), cwd=work)  # it writes logs there
        return _watched(base, terminal, plan, lambda pids: [p for p in pids if not _is_training(p, script)])
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _watched(base: Row, terminal: RecordedTerminal, plan: Plan, own: _Own) -> Row:
    """Measure a program that paints by itself."""
    try:
        first = terminal.wait_for(b"\x1b[", terminal.started_s, _START_S)
        time.sleep(_SETTLE_S)
        if first is None or terminal.process.poll() is not None:
            return _noted(base, f"does not run here: {_last_word(terminal)}")
        pids = own(family(terminal.process.pid))
        began, before = time.perf_counter(), sum(map(cpu_s, pids))
        rss: list[float] = []
        for part in range(_SAMPLES):
            time.sleep(max(0.0, began + (part + 1) * plan.seconds / _SAMPLES - time.perf_counter()))
            with contextlib.suppress(OSError):
                rss.append(round(sum(map(resident_mib, pids)), 1))
        ended = time.perf_counter()
        used = sum(map(cpu_s, pids)) - before
        rate = terminal.bytes_between(began, ended) / (ended - began)
    except OSError as error:
        return _noted(base, f"ended while it was measured: {error.strerror}")
    finally:
        terminal.close()
    return Row(
        program=base.program,
        version=base.version,
        ranks=base.ranks,
        size=base.size,
        first_paint=spread([first]),
        seconds=round(ended - began, 1),
        cpu_share=round(used / (ended - began), 4),
        bytes_per_s=round(rate),
        rss_mib=rss,
    )


def _last_word(terminal: RecordedTerminal) -> str:
    """Return the line in which a program says why it ended."""
    text = b"".join(piece.data for piece in terminal.painted).decode(errors="replace")
    lines = [_ESCAPES.sub("", line).strip() for line in text.splitlines()]
    said = [line for line in lines if line]
    return next((line for line in said if "error" in line.lower()), said[-1] if said else "no word")[:200]


def _noted(row: Row, why: str) -> Row:
    return msgspec.structs.replace(row, notes=[why])


def _environ() -> dict[str, str]:
    return {**os.environ, **ENVIRONMENT}


def _version(folder: Path, name: str) -> str:
    asked = [
        str(folder / "python"),
        "-c",
        f"from importlib.metadata import version; print(version({name!r}))",
    ]
    with contextlib.suppress(OSError):
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return ""


def _is_training(pid: int, script: Path) -> bool:
    """Whether a process runs the script itself: the launcher and the panels only name it to others."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.endswith(script.name.encode()) for word in words) and b"run" not in words
