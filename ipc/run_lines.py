"""One line per run, as `perftui ls` and the picker show them; a contract with scripts."""

import msgspec

RUNS_SCHEMA = 1


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One run of this user on this host."""

    run_id: str
    name: str
    pid: int | None
    """The command's own process while it runs."""
    state: str
    """`running`, `finished`, `stopped`, `failed`, or `lost` (its keeper is gone and left no record)."""
    started: float
    """Unix time."""
    command: list[str]
    exit_code: int | None = None
    stopped_by: str | None = None
    trial: bool = False
    parent: str | None = None

    @property
    def running(self) -> bool:
        """Whether a dashboard finds something live there."""
        return self.state == "running"


class RunList(msgspec.Struct, frozen=True, kw_only=True):
    """What `perftui ls --json` prints."""

    schema: int = RUNS_SCHEMA
    runs: list[RunLine]
