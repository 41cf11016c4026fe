"""The run that the environment names as the probe comes in: a script may clear its environment afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass

from perftui.ipc.run_variables import RUN_ID, RUN_RUNTIME, RUN_STATE


@dataclass(frozen=True)
class NamedRun:
    """A run that a launcher has made."""

    run_id: str
    runtime: str
    state: str


def named_run(environment: Mapping[str, str]) -> NamedRun | None:
    """Return the launcher's run; None where no launcher has started this process."""
    run_id, runtime = environment.get(RUN_ID), environment.get(RUN_RUNTIME)
    state = environment.get(RUN_STATE)
    return NamedRun(run_id, runtime, state) if run_id and runtime and state else None
