"""What a profile window shows of compiled functions: how many run in a step, and what calling them takes."""

from dataclasses import dataclass

from perftui.ipc.findings import Evidence
from perftui.trainer.diagnosis.evidence import number
from perftui.trainer.diagnosis.signals import RankSignals

_REGION = "Torch-Compiled Region"
_GRAPH = "## Call CompiledFxGraph"
_AROUND = (
    _REGION,
    "TorchDynamo Cache Lookup",
    "AOTDispatcher Runtime Wrapper",
    "Pregraph bytecode",
    "CompiledFunction",
)
"""Marks that torch 2.6 and later leave in a trace; their own time is guards, wrappers and Python between."""


@dataclass(frozen=True)
class CompiledPieces:
    """Shares are of the window."""

    each_step: float
    """Compiled functions called a step."""
    around: float
    """Own time of guards and wrappers."""
    within: float
    """Time in the compiled graphs themselves."""
    steps: int

    def evidence(self) -> list[Evidence]:
        """Return these figures as evidence."""
        return [
            number("compiled functions called a step", self.each_step, "", self.steps),
            number("guards and wrappers", self.around, "share", self.steps),
            number("compiled graphs", self.within, "share", self.steps),
        ]


def compiled_pieces(rank: RankSignals) -> CompiledPieces | None:
    """Return what the window shows; None without one, or where nothing in it is marked as compiled."""
    report = rank.report
    if report is None or not report.steps or not report.window_ms:
        return None
    window_us = 1e3 * report.window_ms
    calls = sum(each.count for each in report.operators if each.name.startswith(_REGION))
    graphs = [each for each in report.operators if each.name.startswith(_GRAPH)]
    if not calls or not graphs:
        return None
    around_us = sum(each.self_us for each in report.operators if each.name.startswith(_AROUND))
    return CompiledPieces(
        each_step=calls / len(report.steps),
        around=min(1.0, around_us / window_us),
        within=min(1.0, sum(each.total_us for each in graphs) / window_us),
        steps=len(report.steps),
    )
