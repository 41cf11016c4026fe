"""What a GradScaler has multiplied a loss by, so that the loss is told as the script knows it.

The scale is left on the node of the graph that multiplies by it: it goes with the graph, keeps nothing else
alive, and is found from whatever the script makes of the scaled loss before its backward.
"""

from collections import deque

import torch

from perftui.trainer.probe.border import Foreign

_KEY = "perftui_scale"
_NODES_MOST = 32
"""From the root of a backward on: scaled losses are added up or divided, not put through a model again."""


def mark_scaled(scaler: Foreign, scaled: Foreign) -> None:
    """Leave the scale on what `GradScaler.scale` has returned: a tensor, or tensors in lists and tuples.

    Args:
        scaler: what has scaled; one that is not enabled has no scale, and returns what it was given.
        scaled: what it returned. Another iterable is left alone: it can be gone through but once.
    """
    attributes: Foreign = vars(scaler)
    scale: Foreign = attributes.get("_scale")  # private, and the same since torch 1.6
    if isinstance(scale, torch.Tensor):
        mark_with(scaled, scale)


def mark_with(scaled: Foreign, scale: torch.Tensor) -> None:
    """Leave a scale on a tensor, or on tensors in lists and tuples."""
    if isinstance(scaled, torch.Tensor):
        node: Foreign = scaled.grad_fn
        if node is not None:
            node.metadata[_KEY] = scale
    elif _is_row(scaled):
        for each in scaled:
            mark_with(each, scale)


def _is_row(scaled: Foreign) -> bool:
    return isinstance(scaled, (list, tuple))


def scale_of(root: torch.Tensor) -> torch.Tensor | None:
    """Return the scale that is in the root of a backward; None where there is none."""
    waiting: deque[Foreign] = deque([root.grad_fn])
    for _ in range(_NODES_MOST):
        if not waiting:
            return None
        node = waiting.popleft()
        if node is None:
            continue
        scale: torch.Tensor | None = node.metadata.get(_KEY)
        if scale is not None:
            return scale
        waiting.extend(before for before, _ in node.next_functions)
    return None
