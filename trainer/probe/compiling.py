"""Whether torch.compile compiled something since the last look; asked once a step, never imports dynamo.

Apart because what it reads is private to torch: where it is not as expected, the answer is no.
"""

import sys
from typing import Any

_DYNAMO = "torch._dynamo.utils"


class CompileWatch:
    """Watches dynamo's counters and its list of finished compilations."""

    def __init__(self) -> None:
        self._frames = 0
        self._newest: Any = None

    def changed(self) -> bool:
        """Tell whether a frame or a graph was compiled since the last call."""
        dynamo = sys.modules.get(_DYNAMO)
        if dynamo is None:
            return False
        known = vars(dynamo)
        counters = known.get("counters")
        metrics = known.get("_compilation_metrics")
        frames = counters["frames"]["total"] if counters and "frames" in counters else 0
        newest = metrics[-1] if metrics else None
        changed = frames != self._frames or newest is not self._newest
        self._frames, self._newest = frames, newest
        return changed
