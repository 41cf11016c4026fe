"""What every code means to a reader: one entry each, from which docs/diagnosis.md is made."""

from perftui.trainer.diagnosis.catalogue import device, host, inputs, ranks, software
from perftui.trainer.diagnosis.catalogue.entry import Entry, Report

ENTRIES: tuple[Entry, ...] = (
    *inputs.ENTRIES,
    *host.ENTRIES,
    *device.ENTRIES,
    *software.ENTRIES,
    *ranks.ENTRIES,
)

__all__ = ["ENTRIES", "Entry", "Report"]
