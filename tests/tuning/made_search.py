"""A search in a state of one's own making: launches, findings and what was seen, as tests need them."""

import math

from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.ledger_records import Launch
from perftui.ipc.search_records import Measured, Picture
from perftui.ipc.settings import Semantics, Settings
from perftui.trainer.tuning.search.state import SearchState, advance, begin
from tests.made_ledger import made_launch

from .simulated_job import PLAN, sitting


def launch(
    label: str = "A", change: Settings | None = None, log_step_s: float = -2.0, **more: object
) -> Launch:
    fields: dict[str, object] = {
        "settings": change or {},
        "steps": 120,
        "log_step_s": log_step_s,
        "se": 0.003,
        "df": 20.0,
        "step_ms": 1000 * math.exp(log_step_s),
        "foreign_cores": 0.0,
        **more,
    }
    return made_launch(label, **fields)


def measured(
    each: Launch, *findings: Finding, device: str = "cpu", in_force: Settings | None = None
) -> Measured:
    seen = Picture(findings=list(findings), device=device, in_force=in_force or {})
    return Measured(launch=each, unix=10.0, wall_s=5.0, picture=seen)


def starved(workers: int = 4, share: float = 0.8) -> Finding:
    remedy = Remedy(set={"loader.num_workers": workers}, bound=1 / (1 - share), expected=3.0)
    return Finding(
        code="input.workers", severity="critical", share=share, sentence="It waits.", remedy=remedy
    )


def fp32() -> Finding:
    remedy = Remedy(set={"precision.tf32": True}, semantics="numeric")
    return Finding(code="compute.fp32", severity="warning", share=0.0, sentence="Exact.", remedy=remedy)


def state_with(
    *findings: Finding,
    allow: Semantics = "neutral",
    device: str = "cpu",
    in_force: Settings | None = None,
) -> SearchState:
    state = advance(begin(PLAN), sitting(allow))
    return advance(state, measured(launch(), *findings, device=device, in_force=in_force))
