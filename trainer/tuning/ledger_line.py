"""Puts together what the ledger keeps of one comparison."""

import socket
import time

from perftui.ipc.ledger_records import Comparison, Verdict
from perftui.ipc.settings import semantics_of
from perftui.trainer.tuning.comparison import Trials
from perftui.trainer.tuning.plan import RelaunchPlan
from perftui.trainer.tuning.provenance import commit_of, versions_of
from perftui.trainer.tuning.subject import Subject


def ledger_line(
    comparison_id: str,
    plan: RelaunchPlan,
    subject: Subject,
    trials: Trials,
    verdict: Verdict,
    successor: str | None,
) -> Comparison:
    """Return the line: the change, every launch, the verdict, and where it all comes from."""
    commit, dirty = commit_of(subject.cwd)
    return Comparison(
        comparison_id=comparison_id,
        unix=time.time(),
        name=subject.name,
        host=socket.gethostname(),
        command=subject.command,
        before=trials.before,
        set=plan.set,
        semantics=semantics_of(plan.set, subject.arguments),
        bound=plan.bound,
        expected=plan.expected,
        launches=trials.launches,
        verdict=verdict,
        finding=plan.finding,
        commit=commit,
        dirty=dirty,
        versions=versions_of(subject.interpreter),
        parent=subject.run_id,
        successor=successor,
    )
