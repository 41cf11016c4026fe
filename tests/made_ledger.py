"""Launches and comparisons as the ledger has them, to which a test changes what it is about."""

import math

import msgspec.structs

from perftui.ipc.ledger_records import Comparison, Launch, Verdict


def made_launch(label: str = "A", **changes: object) -> Launch:
    """A launch that was stopped; nothing was measured."""
    made = Launch(run_id="r", label="A" if label == "A" else "B", settings={}, outcome="stopped")
    return msgspec.structs.replace(made, **changes)


def measured_launch(label: str, step_s: float | None, **changes: object) -> Launch:
    """A launch of 100 steps of so many seconds, known to 0.3 %, on a quiet host."""
    log_step_s = None if step_s is None else math.log(step_s)
    measured: dict[str, object] = {
        "steps": 100, "log_step_s": log_step_s, "se": 0.003, "df": 12.0, "foreign_cores": 0.0,
    }  # fmt: skip
    return made_launch(label, **{**measured, **changes})


def made_comparison(ident: str = "c", *launches: Launch, **changes: object) -> Comparison:
    """Two workers instead of none: it made no difference."""
    made = Comparison(
        comparison_id=ident,
        unix=1.0,
        name="made",
        host="made",
        command=["python"],
        before={},
        set={"loader.num_workers": 2},
        semantics="neutral",
        bound=None,
        expected=None,
        launches=list(launches),
        verdict=Verdict(verdict="same", sentence="s"),
    )
    return msgspec.structs.replace(made, **changes)
