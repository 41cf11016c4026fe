"""The analysis of one window over its ranks: reads the traces, asks the figures, adds what to mistrust."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from perftui.ipc.errors import RecordingError
from perftui.ipc.view import ProfileRank
from perftui.trainer.profiling.kernels import copy_share, kernel_rows
from perftui.trainer.profiling.nesting import Nesting, nest
from perftui.trainer.profiling.operators import operator_rows
from perftui.trainer.profiling.sentence import RankFigures, window_sentence
from perftui.trainer.profiling.steps import Window, device_busy_share, find_window, loader_share
from perftui.trainer.profiling.trace_columns import Trace
from perftui.trainer.profiling.trace_reader import read_trace

_COPIES_NOTED = 0.05
_UNLINKED_NOTED = 0.05


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """The worker's answer."""

    ranks: list[ProfileRank]
    """One for each trace, in the order asked for; state `failed` with a reason where it cannot be read."""
    sentence: str
    notes: list[str] = []
    """What limits the figures."""


def analyse_files(traces: Sequence[tuple[int, Path]]) -> Analysis:
    """Analyse the traces of one window, given as (rank, file); a bad file spoils its own rank only."""
    profiles: list[ProfileRank] = []
    readable: list[RankFigures] = []
    notes: list[str] = []
    for rank, path in traces:
        try:
            trace = read_trace(path)
        except RecordingError as error:
            profiles.append(ProfileRank(rank=rank, state="failed", reason=str(error), path=str(path)))
            continue
        figures, mistrust = analyse_trace(trace, rank, str(path))
        profiles.append(figures.profile)
        readable.append(figures)
        notes += [f"rank {rank}: {note}" for note in mistrust]
    return Analysis(ranks=profiles, sentence=window_sentence(readable), notes=notes)


def analyse_trace(trace: Trace, rank: int, path: str | None = None) -> tuple[RankFigures, list[str]]:
    """Return one rank's figures and the notes on them. Pure."""
    nesting = nest(trace)
    window = find_window(trace, nesting)
    profile = ProfileRank(
        rank=rank,
        state="done",
        path=path,
        window_ms=(window.device_end_ns - window.device_start_ns) / 1e6,
        operators=operator_rows(trace, nesting, window),
        kernels=kernel_rows(trace, window),
        loader_share=loader_share(trace, window),
        device_busy_share=device_busy_share(trace, window),
    )
    figures = RankFigures(profile, window.steps, with_device=len(trace.device) > 0)
    return figures, _notes(trace, nesting, window)


def _notes(trace: Trace, nesting: Nesting, window: Window) -> list[str]:
    notes: list[str] = []
    if window.steps is None:
        notes.append("no step marks (ProfilerStep#N): figures cover the whole trace, its edges included")
    copies = copy_share(trace, window)
    if copies is not None and copies >= _COPIES_NOTED:
        notes.append(f"{copies * 100:.0f} % of the device's time went into copies and fills")
    unlinked = sum(owner < 0 for owner in nesting.owner)
    if len(trace.device) and unlinked / len(trace.device) >= _UNLINKED_NOTED:
        share = unlinked / len(trace.device) * 100
        notes.append(f"{share:.0f} % of device events belong to no operator in the trace")
    return notes
