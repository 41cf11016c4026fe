"""Has a window's traces analysed by a process of its own, so that the hub does not wait for it."""

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from perftui.ipc.run_files import read_record
from perftui.trainer.hub.hub_window import HubWindow
from perftui.trainer.hub.window_view import trace_in
from perftui.trainer.profiling.answer import Analysis

_ANALYSIS_S = 120.0


class WindowAnalysis:
    """The analyses of the windows of one run.

    Args:
        folder: where traces and results lie.
        replay: nothing is analysed, what was is shown.
    """

    def __init__(self, folder: Path, *, replay: bool) -> None:
        self._folder = folder
        self._replay = replay

    def follow(self, window: HubWindow, kept: Mapping[int, str], step_ms_before: Mapping[int, float]) -> None:
        """Begin to analyse a window or go on with it; in the end it is `analysed`.

        Args:
            window: the window.
            kept: trace files by rank.
            step_ms_before: the step time right before the window, by rank, as far as it is known.
        """
        out = self._folder / f"{window.window_id}.analysis.json"
        if window.analysis is None and window.adopted and (self._replay or out.exists()):
            self._take(window, out, "its analysis was not kept")
        elif window.analysis is None:
            self._begin(window, out, kept, step_ms_before)
        else:
            self._wait_for(window, window.analysis, out)

    def _begin(
        self, window: HubWindow, out: Path, kept: Mapping[int, str], step_ms_before: Mapping[int, float]
    ) -> None:
        times = {rank: f":{step_ms_before[rank]:.6f}" if rank in step_ms_before else "" for rank in kept}
        named = [f"{rank}{times[rank]}={trace_in(self._folder, path)}" for rank, path in sorted(kept.items())]
        command = [sys.executable, "-m", "perftui.trainer.profiling.analyse", str(out), *named]
        window.began_s = time.monotonic()
        try:
            window.analysis = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
        except OSError as error:
            window.failure = f"the analysis of the trace could not be started: {error}"
            window.analysed = True

    def _wait_for(self, window: HubWindow, worker: "subprocess.Popen[bytes]", out: Path) -> None:
        if worker.poll() is None:
            if time.monotonic() - window.began_s < _ANALYSIS_S:
                return
            worker.kill()
        _, errors = worker.communicate()
        told = errors.decode("utf-8", "replace").strip().splitlines()
        self._take(window, out, f"the trace could not be analysed: {told[-1] if told else 'no word why'}")

    def _take(self, window: HubWindow, out: Path, otherwise: str) -> None:
        window.result = read_record(out, Analysis)
        if window.result is None:
            window.failure = otherwise
        window.analysed = True

    def close(self, window: HubWindow) -> None:
        """End the analysis of a window, if one goes on."""
        if window.analysis is not None and window.analysis.poll() is None:
            window.analysis.kill()
            window.analysis.wait()
