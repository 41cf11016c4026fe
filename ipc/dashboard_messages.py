"""What a dashboard (or a command) and a hub say to each other.

A dashboard *pulls*: it names the update it has, and gets one frame with all that is newer. A slow one lags
only itself. Every command is answered: accepted or refused with a reason, later done with a result.
"""

from typing import TypeAlias

import msgspec

from perftui.ipc.findings import Unjudged
from perftui.ipc.ledger_records import Comparison
from perftui.ipc.messages import Preset
from perftui.ipc.rank_map import RankMap, RankMeasure
from perftui.ipc.search_view import SearchView
from perftui.ipc.settings import SettingValue
from perftui.ipc.step_history import StepHistory
from perftui.ipc.view import Mark, ProfileView, RankHistory, RunView

MANY_RANKS = 64
"""Beyond so many, ranks at which nobody looks come in brief."""


class _Frame(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    pass


class Pull(_Frame, frozen=True, kw_only=True, tag="pull"):
    """Give me what is newer than update `since`; 0 asks for a snapshot with bounded history."""

    protocol: int
    since: int = 0
    output_since: int = 0
    """Number of the last line of output that this dashboard has."""
    closer: list[int] = []
    """Ranks of which all is wanted. Of many ranks (more than 64) the others come in brief."""
    anew: bool = False
    """`closer` is another than in the pull before: tell all about these ranks, whatever `since`."""


class ProfileCommand(_Frame, frozen=True, kw_only=True, tag="profile"):
    """Open a profiling window."""

    command_id: str
    steps: int = 3
    ranks: list[int] | None = None
    """Whose trace file is kept; None: all."""
    preset: Preset = "light"


class CancelProfileCommand(_Frame, frozen=True, kw_only=True, tag="cancel_profile"):
    """End the profiling window that is open, without a result."""

    command_id: str


class StopCommand(_Frame, frozen=True, kw_only=True, tag="stop"):
    """Stop the training by the ladder."""

    command_id: str


class RelaunchCommand(_Frame, frozen=True, kw_only=True, tag="relaunch"):
    """Measure one change by trials and go on with the winner."""

    command_id: str
    set: dict[str, SettingValue]
    trial: bool = True
    finding: str | None = None
    bound: float | None = None
    expected: float | None = None
    most_s: float | None = None


class CancelCommand(_Frame, frozen=True, kw_only=True, tag="cancel_relaunch"):
    """Give up a relaunch that is going on: its trials are stopped, the original is started again."""

    command_id: str


class SeekCommand(_Frame, frozen=True, kw_only=True, tag="seek"):
    """In a replay: go to a time, pause, or alter the speed."""

    command_id: str
    elapsed_s: float | None = None
    speed: float | None = None
    paused: bool | None = None


class SummaryQuery(_Frame, frozen=True, kw_only=True, tag="summary"):
    """Answer with the summary JSON of the run as text (`Done.result`)."""

    command_id: str


class StepsQuery(_Frame, frozen=True, kw_only=True, tag="steps_of"):
    """Answer with how long the steps of a rank took (`Done.steps`)."""

    command_id: str
    rank: int
    first_step: int = 0
    last_step: int | None = None
    """None: the newest."""
    newest: int | None = None
    """This many of the newest steps; `first_step` and `last_step` do not count then."""
    blocks: int = 120
    """At most so many."""


class RanksQuery(_Frame, frozen=True, kw_only=True, tag="ranks_over_steps"):
    """Answer with how late each rank was over a stretch of steps (`Done.ranks`)."""

    command_id: str
    first_step: int = 0
    last_step: int | None = None
    """None: the newest."""
    newest: int | None = None
    """This many of the newest steps; `first_step` and `last_step` do not count then."""
    blocks: int = 120
    """At most so many."""
    bands: int = 32
    """At most so many rows: beyond, neighbouring ranks share one."""
    measure: RankMeasure = "before"


class LedgerQuery(_Frame, frozen=True, kw_only=True, tag="ledger"):
    """Answer with the newest comparisons of the ledger on the hub's host (`Done.comparisons`)."""

    command_id: str
    limit: int = 200


class SearchQuery(_Frame, frozen=True, kw_only=True, tag="search"):
    """Answer with a search for faster settings in the ledger on the hub's host (`Done.search`)."""

    command_id: str
    search: str = ""
    """Its id, the beginning of one, or a name; empty: the newest."""


Command: TypeAlias = (
    ProfileCommand
    | CancelProfileCommand
    | StopCommand
    | RelaunchCommand
    | CancelCommand
    | SeekCommand
    | SummaryQuery
)
Question: TypeAlias = StepsQuery | RanksQuery | LedgerQuery | SearchQuery
"""Answered from what is known of any run; changes nothing."""
FromDashboard: TypeAlias = Pull | Command | Question


class Update(_Frame, frozen=True, kw_only=True, tag="update"):
    """All that is newer than what the pull named."""

    number: int
    snapshot: bool
    """True: forget what you had. The hub was restarted, or `since` was 0 or too old."""
    view: RunView
    """`ranks` and `profiles` hold only what changed, unless this is a snapshot; so do `gpus` and `hosts`."""
    history: list[RankHistory] = []
    marks: list[Mark] = []
    output: list[str] = []
    output_number: int = 0
    """Number of the last line in `output`."""
    output_partial: str = ""
    """The unfinished last line: a progress bar, say."""
    sent_unix: float = 0.0
    unjudged: list[Unjudged] | None = None
    """Judgements that could not be made, at most 100; None: as before."""
    closer: list[int] = []
    """Ranks about which all is told: of many ranks those that the pull named."""
    anew: bool = False
    """What is known of their history and of all marks is to be forgotten: here it is from the beginning."""


class Answer(_Frame, frozen=True, kw_only=True, tag="answer"):
    """A command was taken or refused."""

    command_id: str
    accepted: bool
    reason: str | None = None


class Done(_Frame, frozen=True, kw_only=True, tag="done"):
    """A command has run to its end."""

    command_id: str
    ok: bool
    result: str = ""
    profile: ProfileView | None = None
    steps: StepHistory | None = None
    comparisons: list[Comparison] | None = None
    ranks: RankMap | None = None
    search: SearchView | None = None


class Mismatch(_Frame, frozen=True, kw_only=True, tag="mismatch"):
    """The two ends speak different protocols."""

    hub_protocol: int
    your_protocol: int


ToDashboard: TypeAlias = Update | Answer | Done | Mismatch
