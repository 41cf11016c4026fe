"""Environment variables by which the launcher, the training and its hub know one run.

`sitecustomize` and what the keeper needs name theirs themselves: they load nothing of this room.
"""

RUN_ID = "PERFTUI_RUN_ID"
"""The run's tag: all of its processes carry it."""
RUN_STATE = "PERFTUI_RUN_STATE"
"""Its folder of what stays."""
RUN_RUNTIME = "PERFTUI_RUN_RUNTIME"
"""Its folder of sockets."""
TRIAL = "PERFTUI_TRIAL"
"""1: the launch is a trial, whose files do not stay."""
ARM = "PERFTUI_ARM"
"""1: a training of this shell starts a run of its own."""
PYTHON = "PERFTUI_PYTHON"
"""The interpreter that perftui is installed for."""
OFF = "PERFTUI_OFF"
"""1: the probe stays out."""
