"""The tools by name, and which version of each is installed where."""

import os
import subprocess

from benchmarks.rivals.arms import PACKAGES, ToolName
from benchmarks.rivals.tool import Nothing, Tool
from benchmarks.rivals.tool_gpuprof import Gpuprof
from benchmarks.rivals.tool_perftui import Perftui
from benchmarks.rivals.tool_traceml import TraceMl
from benchmarks.rivals.tool_train_doctor import TrainDoctor

TOOLS: dict[ToolName, Tool] = {
    "plain": Nothing(),
    "perftui": Perftui(),
    "traceml": TraceMl(),
    "gpuprof": Gpuprof(),
    "train-doctor": TrainDoctor(),
}


def versions_in(python: str, tool: ToolName) -> dict[str, str]:
    """Return the versions of torch, Python and the tool in that interpreter's environment.

    Raises:
        ValueError: the tool is not installed there.
    """
    package = PACKAGES.get(tool, "torch")
    lines = [
        "import platform, torch",
        "from importlib.metadata import version, PackageNotFoundError",
        "print(platform.python_version(), torch.__version__)",
        f"try: print(version({package!r}))",
        "except PackageNotFoundError: print()",
        f"import {_module_of(tool)}",
    ]
    done = subprocess.run(
        [python, "-c", "\n".join(lines)], capture_output=True, text=True, env=dict(os.environ), check=False
    )
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:]
        raise ValueError(f"{package} cannot be used with {python}: {' '.join(reason)}")
    interpreter, torch_version, found = done.stdout.replace("\n", " ", 1).split(" ", 2)
    return {
        "python": interpreter,
        "torch": torch_version,
        package: found.strip() or "not installed, on the path",
    }


def _module_of(tool: ToolName) -> str:
    modules: dict[ToolName, str] = {
        "perftui": "perftui.trainer",
        "traceml": "traceml_ai",
        "gpuprof": "gpuprof",
        "train-doctor": "train_doctor",
    }
    return modules.get(tool, "torch")
