"""The CUDA allocator's history over one window, for torch's memory viewer: who allocated what, and where.

Begun and ended with a capture of the preset `memory`. It is process-wide in torch, so a script that keeps a
history of its own is left alone.
"""

import importlib
import pickle
from pathlib import Path

_ENTRIES_MAX = 200_000
"""Allocations and frees; older ones go. About 40 MB with their stacks."""


class MemoryHistory:
    """One recording. All calls from any thread; `save` before `end`, which forgets everything."""

    def __init__(self) -> None:
        self._recording = False

    def begin(self) -> None:
        """Begin to record, unless the script does so itself."""
        torch = importlib.import_module("torch")
        is_on = getattr(torch._C, "_cuda_isHistoryEnabled", None)
        if is_on is not None and is_on():
            return
        torch.cuda.memory._record_memory_history(
            enabled="all", context="alloc", stacks="python", max_entries=_ENTRIES_MAX
        )
        self._recording = True

    @property
    def recording(self) -> bool:
        """Whether there is something to save."""
        return self._recording

    def save(self, path: Path) -> None:
        """Write the history as `path`, whole or not at all.

        Raises:
            OSError: it could not be written.
        """
        torch = importlib.import_module("torch")
        temporary = path.with_name(f"{path.name}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as stream:
                pickle.dump(torch.cuda.memory._snapshot(), stream)
            temporary.chmod(0o600)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def end(self) -> None:
        """Stop recording and forget; harmless when repeated."""
        if self._recording:
            self._recording = False
            torch = importlib.import_module("torch")
            torch.cuda.memory._record_memory_history(enabled=None)
