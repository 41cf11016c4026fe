"""Which line of the script a remedy for the loader is about: where the DataLoader is made.

One function for all findings, so that none is without it. The slow line and the line to alter are two.
"""

from msgspec.structs import replace

from perftui.ipc.findings import Finding
from perftui.ipc.loader_names import split_name
from perftui.ipc.messages import LoaderFacts
from perftui.trainer.diagnosis.case import Case

_OF_LOADERS = ("input.", "data.")
_NOT_OF_LOADERS = frozenset({"input.inline"})
_OF_SAMPLES = frozenset({"input.item", "input.workers", "input.storage"})
"""Where samples take the time, and not what is made of them."""


def with_loader_place(finding: Finding, case: Case) -> Finding:
    """Return a finding whose remedy says where the loader is made that it is about, where that is known.

    Where no stack named the line that takes the time, the dataset's own method stands for it.
    """
    remedy = finding.remedy
    if remedy is None:
        return finding
    loader = _loader(finding, case)
    if loader is None:
        return finding
    at = remedy.at
    if at is None and finding.code in _OF_SAMPLES:
        at = loader.fetch_at or None
    return replace(finding, remedy=replace(remedy, made_at=loader.made_at, at=at))


def _loader(finding: Finding, case: Case) -> LoaderFacts | None:
    """Return the loader that a finding is about: that which its settings name, else the training's."""
    named = {
        place[0] for name in (finding.remedy.set if finding.remedy else {}) if (place := split_name(name))
    }
    about_loaders = finding.code.startswith(_OF_LOADERS) and finding.code not in _NOT_OF_LOADERS
    if not named and not about_loaders:
        return None
    ranks = [rank for rank in case.signals.ranks if finding.rank is None or rank.rank == finding.rank]
    loaders = [each for rank in ranks for each in (rank.loader, rank.read_ahead) if each is not None]
    return next((each for each in loaders if not named or each.index in named), None)
