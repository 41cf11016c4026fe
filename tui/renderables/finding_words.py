"""Words of a finding that stand in more than one place."""

from perftui.ipc.findings import Evidence, Finding
from perftui.tui import format as fmt


def evidence_words(evidence: Evidence) -> str:
    """Return a figure with its unit, which is left out where the name has it: "usable cores 2"."""
    unit = "" if evidence.unit in evidence.name.split() else evidence.unit
    return fmt.evidence_value(evidence.value, unit)


def first_seen(finding: Finding) -> str:
    """Return when it was first seen; empty where that is not known."""
    if finding.first_step is None:
        return ""
    after = f", after {fmt.duration(finding.first_s)}" if finding.first_s is not None else ""
    return f"first seen at step {finding.first_step:,}{after}"
