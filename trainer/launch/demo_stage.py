"""Which demonstrations there are, and how each is started. The scripts themselves know nothing of perftui."""

import importlib.util
import re
import sys
from dataclasses import dataclass
from importlib.metadata import requires

from perftui.ipc.errors import Refused, UsageError
from perftui.ipc.places import current_folder
from perftui.trainer.launch.environment import rooms_folder
from perftui.trainer.launch.spec import LaunchSpec, Stdio

_NEEDED = ("torch", "torchvision")
_TRIAL_S = 45.0
"""The change doubles the speed: it shows in so long, and nobody waits long for a demonstration."""
_LONG = "1000"  # epochs: the training goes on until somebody has seen enough


@dataclass(frozen=True)
class Demo:
    """One demonstration."""

    script: str
    what: str
    ranks: int = 1


DEMOS: dict[str, Demo] = {
    "starved": Demo(
        "starved.py", "a CNN on JPEG files, decoded in the training process: the loader starves it"
    ),
    "ddp": Demo("starved_ddp.py", "two torchrun ranks (gloo), one of which reads larger pictures", ranks=2),
    "healthy": Demo("healthy.py", "a CNN on tensors in memory: there is nothing to mend"),
}


def demo_lines() -> list[str]:
    """Return one line per demonstration."""
    return [f"{name:8} {demo.what}" for name, demo in DEMOS.items()]


def demo_spec(name: str, stdio: Stdio) -> LaunchSpec:
    """Return how to start a demonstration.

    Raises:
        UsageError: there is none of that name.
        Refused: torch or torchvision is missing.
    """
    if name not in DEMOS:
        raise UsageError(f"no demo {name!r}; there are: {', '.join(DEMOS)}")
    missing = [package for package in _NEEDED if importlib.util.find_spec(package) is None]
    if missing:
        raise Refused(f"the demo needs {' and '.join(missing)}: {_pip_command()}")
    demo = DEMOS[name]
    script = str(rooms_folder() / "demos" / demo.script)
    runner = [sys.executable]
    if demo.ranks > 1:
        runner += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={demo.ranks}"]
    command = [*runner, script, "--epochs", _LONG]
    return LaunchSpec(
        command=command, cwd=current_folder(), name=f"demo-{name}", trial_seconds=_TRIAL_S, stdio=stdio
    )


def _pip_command() -> str:
    """Return the command that installs what the demos need, in the versions that fit together."""
    wanted = [
        re.split(r"\s*;", line)[0]
        for line in requires("perftui") or []
        if re.search(r"""extra\s*==\s*['"]demos['"]""", line)
    ]
    return f"{sys.executable} -m pip install {' '.join(wanted or _NEEDED)}"
