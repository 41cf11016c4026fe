"""How each tool is run, in the way its documentation shows: as light as it goes, and timing every phase."""

from dataclasses import dataclass
from typing import Literal

ToolName = Literal["plain", "perftui", "traceml", "gpuprof", "train-doctor"]
PACKAGES: dict[ToolName, str] = {
    "perftui": "perftui",
    "traceml": "traceml-ai",
    "gpuprof": "gpuprof",
    "train-doctor": "train-doctor",
}
BASELINE = "plain"
AGAIN = "plain-again"
"""A second plain process a round: what the comparison finds where nothing is to be found."""


@dataclass(frozen=True)
class Arm:
    """One way of running one tool.

    `phases` are those that the tool must have recorded, or the figure is void: `step`, `wait`, `forward`,
    `backward`, `optimizer`.
    """

    name: str
    tool: ToolName
    what: str
    phases: tuple[str, ...]
    every_phase: bool = False
    gpu_only: bool = False
    cpu_only: bool = False


PARTS = ("step", "wait", "forward", "backward", "optimizer")
ALL_PHASES = ("step", "forward", "backward", "optimizer")
ARMS = (
    Arm(BASELINE, "plain", "no tool", ()),
    Arm("perftui", "perftui", "`perftui run --no-tui`", ("step",)),
    Arm(
        "traceml-manual",
        "traceml",
        '`traceml run`, `init(mode="manual")` and `trace_step(model)`, sampling at 0.5 s to lose no step',
        ("step",),
    ),
    Arm(
        "gpuprof-manual",
        "gpuprof",
        "`profile(auto=False)` and `prof.step(i)`, which also takes the gap before a step",
        ("step",),
        cpu_only=True,
    ),
    Arm(
        "train-doctor",
        "train-doctor",
        "`train-doctor profile`, its window longer than the loop; it has no phases",
        ("step", "wait"),
    ),
    Arm(
        "perftui-phases",
        "perftui",
        "the same with `PERFTUI_PHASES=all` in the environment",
        ALL_PHASES,
        every_phase=True,
    ),
    Arm(
        "traceml-auto",
        "traceml",
        'the same with `init(mode="auto")`, its default',
        ALL_PHASES,
        every_phase=True,
    ),
    Arm("gpuprof-auto", "gpuprof", "`profile()` round the loop, its default", ALL_PHASES, every_phase=True),
    Arm(
        "gpuprof-cuda",
        "gpuprof",
        "`profile(cuda=True)`: phases by CUDA events",
        ALL_PHASES,
        every_phase=True,
        gpu_only=True,
    ),
    Arm(AGAIN, "plain", "no tool, a second time", ()),
)
BY_NAME = {arm.name: arm for arm in ARMS}


def arms_for(device: str, names: str | None) -> list[Arm]:
    """Return the arms that run on this device, or those of a comma list; the baseline is always there.

    Raises:
        ValueError: a name is no arm's.
    """
    fitting = [arm for arm in ARMS if not (arm.gpu_only if device == "cpu" else arm.cpu_only)]
    if names is None:
        return fitting
    wanted = {BASELINE, *names.split(",")}
    if unknown := wanted - BY_NAME.keys():
        raise ValueError(f"no arm is called {', '.join(sorted(unknown))}; there are {', '.join(BY_NAME)}")
    return [arm for arm in fitting if arm.name in wanted]
