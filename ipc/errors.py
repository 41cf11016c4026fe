"""The error tree. One class per thing the user can do about it, not per cause.

PerftuiError                1
├── UsageError              2    mend the command line or the settings
├── NoSuchRun               3    name another run, or start one
├── Refused                 4    read the reason; nothing was changed
├── CommandNotFound       127    mend the command
├── LaunchFailed            1    the training did not start; carries its last lines
├── ConnectionLost          1    the hub does not answer: wait, or start again
├── ProtocolError           1    two versions of perftui talk to each other
└── RecordingError          1    the recording or trace cannot be read; says where

Each message says what happened, the value, and what to do.
"""


class PerftuiError(Exception):
    """Base of all errors that perftui reports to a person in one line."""

    exit_code = 1


class UsageError(PerftuiError):
    """The command line or a setting is wrong."""

    exit_code = 2


class NoSuchRun(PerftuiError):
    """There is no run of that name on this host."""

    exit_code = 3


class Refused(PerftuiError):
    """perftui declines to do it; nothing was changed."""

    exit_code = 4


class CommandNotFound(PerftuiError):
    """The command to run does not exist."""

    exit_code = 127


class LaunchFailed(PerftuiError):
    """The training could not be started."""


class ConnectionLost(PerftuiError):
    """The hub does not answer."""


class ProtocolError(PerftuiError):
    """A frame that this version cannot read."""


class RecordingError(PerftuiError):
    """A recording or trace that cannot be read."""
