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
    """`running`, `finished`, `stopped`, `failed`, `lost` (its keeper is gone without a record), `elsewhere`.

    The last: on another host or in another container, and no end is recorded; it may run there or not.
    """
    started: float
    """Unix time."""
    command: list[str]
    exit_code: int | None = None
    stopped_by: str | None = None
    trial: bool = False
    parent: str | None = None
    host: str | None = None
    """Where it was launched."""

    @property
    def running(self) -> bool:
        """Whether a dashboard finds something live there."""
        return self.state == "running"

    @property
    def elsewhere(self) -> bool:
        """Whether it cannot be seen from here whether it runs."""
        return self.state == "elsewhere"

    @property
    def state_words(self) -> str:
        """The state for a reader."""
        return f"on {self.host}, not seen from here" if self.elsewhere else self.state


class RunList(msgspec.Struct, frozen=True, kw_only=True):
    """What `perftui ls --json` prints."""

    schema: int = RUNS_SCHEMA
    runs: list[RunLine]
