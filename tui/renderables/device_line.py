"""A step on the device's own timeline, in one line. Pure."""

from perftui.ipc.figures import beside, decimals
from perftui.ipc.view import DeviceView
from perftui.tui.renderables.lines import Line, Run, line, width_of
from perftui.tui.renderables.phase_bar import PHASES

_SHORT = {role: short for role, _, short, _ in PHASES}
_LEAST_SHARE = 0.0005
"""Of the step: as in the legend, what is smaller is left out, but for the wait."""


def device_line(device: DeviceView, width: int) -> Line:
    """Draw the step and its parts in ms; how many steps that are, then the smallest parts, go first."""
    parts = [
        (role, took_ms)
        for role, took_ms in _parts(device)
        if role == "loader_wait" or took_ms >= _LEAST_SHARE * device.step_ms
    ]
    digits = max(1, decimals(device.step_ms))  # what is fine enough for the step is so for all its parts
    step = Run(f"{device.step_ms:,.{digits}f} ms", "value")
    head = line(Run("device ", "dim"), step, Run(":", "dim"))
    tail = line(Run(f" ({device.sampled_steps} sampled)", "dim"))
    while parts:
        drawn = (*head, *(run for role, took_ms in parts for run in _entry(role, took_ms, digits)))
        for whole in ((*drawn, *tail), drawn):
            if width_of(whole) <= width:
                return whole
        parts.remove(min(parts, key=_weight))
    return head[:-1] if width_of(head[:-1]) <= width else ()


def _parts(device: DeviceView) -> list[tuple[str, float]]:
    found = (
        ("loader_wait", device.wait_ms),
        ("h2d", device.h2d_ms),
        ("forward", device.forward_ms),
        ("backward", device.backward_ms),
        ("comm_exposed", device.comm_exposed_ms),
        ("optimizer", device.optimizer_ms),
        ("other", device.other_ms),
    )
    return [(role, took_ms) for role, took_ms in found if took_ms is not None]


def _weight(part: tuple[str, float]) -> float:
    """Return how much a part is worth showing: the wait always is."""
    return float("inf") if part[0] == "loader_wait" else part[1]


def _entry(role: str, took_ms: float, digits: int) -> Line:
    return line(Run(f" {_SHORT[role]} ", "dim"), Run(beside(took_ms, digits), "text"))
