"""When torch.compile was at work: from dynamo's own callbacks, so that watching costs nothing per step.

Apart because what it leans on is private to torch: where it is not as expected, no step is marked.
"""

import sys
from collections.abc import Callable
from time import perf_counter_ns

from perftui.trainer.probe.after_import import after_import
from perftui.trainer.probe.border import Border, Foreign

_MODULE = "torch._dynamo.callback"


class CompileWatch:
    """Notes when compilations begin and end, in whatever thread.

    Args:
        tell: receives (begin_ns, end_ns) of each.
        begins: called as one begins, in its thread.
    """

    def __init__(
        self, border: Border, tell: Callable[[int, int], object], begins: Callable[[], object]
    ) -> None:
        self._tell = tell
        self._begins = begins
        self._began: list[int] = []
        self._start = border.guard("compile", self._started)
        self._end = border.guard("compile end", self._ended)

    def install(self) -> None:
        """Register with dynamo when the script brings it in; never bring it in ourselves."""
        after_import({_MODULE: lambda _module: self.refresh()})

    def refresh(self) -> None:
        """Register again if dynamo was reset, which forgets its callbacks; any thread."""
        module = sys.modules.get(_MODULE)
        handler: Foreign = None if module is None else vars(module).get("callback_handler")
        if handler is not None and self._start not in handler.start_callbacks:
            handler.register_start_callback(self._start)
            handler.register_end_callback(self._end)

    @property
    def began_ns(self) -> int:
        """When the compilation began that goes on; -1: none does."""
        began = self._began[:1]
        return began[0] if began else -1

    def _started(self, *_args: Foreign) -> None:  # torch passes something since 2.8
        self._began.append(perf_counter_ns())
        self._begins()

    def _ended(self, *_args: Foreign) -> None:
        if self._began:
            self._tell(self._began.pop(), perf_counter_ns())
