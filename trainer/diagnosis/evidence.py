"""Numbers and words that all rules share: evidence with its unit and window, shares in per cent, settings."""

import re

from perftui.ipc.errors import UsageError
from perftui.ipc.facts import StackFacts, StackPlace
from perftui.ipc.findings import Evidence
from perftui.ipc.own_files import is_ours
from perftui.ipc.prerequisites import Told, why_idle, why_impossible
from perftui.ipc.settings import Settings, setting
from perftui.ipc.units import MIB
from perftui.trainer.diagnosis.signals import RankSignals

_LINE = re.compile(r":\d+(?: |$)")
_INSTALLED = ("site-packages", "dist-packages", "/lib/python", "<frozen")


def number(name: str, value: float, unit: str, steps: int = 0) -> Evidence:
    """Return one number behind a finding; `steps` 0: not taken over steps."""
    return Evidence(name=name, value=float(value), unit=unit, window_steps=steps)


def share(rank: RankSignals, name: str, value: float) -> Evidence:
    """Return a share of this rank's step."""
    return number(name, value, "share", rank.window_steps)


def step(rank: RankSignals) -> Evidence:
    """Return the rank's mean step."""
    return number("step", rank.step_ms.mean, "ms", rank.window_steps)


def percent(value: float) -> str:
    """Return a share as whole per cent."""
    return f"{100 * value:.0f} %"


def size(mib: float) -> str:
    """Return a size in words with the unit that suits it, such as `16 B`, `3.1 KiB` or `25 MiB`."""
    amount, unit = mib * MIB, "B"
    for larger in ("KiB", "MiB", "GiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.3g} {unit}" if amount < 1000 else f"{amount:.0f} {unit}"


def offered(rank: RankSignals, wanted: Settings) -> Settings:
    """Return those of the wanted settings that can be applied here and are not in force yet.

    What is known to bring nothing to such a training is left out as well.
    """
    known = {name: value for name, value in wanted.items() if _known(name)}
    told = Told(
        device=None if rank.device == "unknown" else rank.device,
        loader=rank.loader,
        facts=rank.facts,
        in_force=rank.settings,
    )
    refused = why_impossible(known, told) | why_idle(known, told)
    return {
        name: value
        for name, value in known.items()
        if name not in refused and rank.settings.get(name) != value
    }


def _known(name: str) -> bool:
    try:
        setting(name)
    except UsageError:
        return False
    return True


def area_share(stacks: StackFacts | None, least_looks: int, *areas: str) -> float | None:
    """Return the share of looks that found the training thread in some areas; None: too few looks."""
    if stacks is None or stacks.looks < least_looks:
        return None
    return sum(stacks.areas.get(area, 0) for area in areas) / stacks.looks


def of_the_script(at: str) -> bool:
    """Tell whether a place (`file:line function`, or a file) is the script's own: not installed, not ours."""
    return not any(part in at for part in _INSTALLED) and not is_ours(_LINE.split(at)[0])


def main_place(stacks: StackFacts | None, least_share: float, *areas: str) -> StackPlace | None:
    """Return the line where most looks of some areas were, if it has at least that share of them."""
    if stacks is None:
        return None
    total = sum(stacks.areas.get(area, 0) for area in areas)
    found = [place for place in stacks.places if place.area in areas]
    most = max(found, key=lambda place: place.count, default=None)
    return most if most is not None and total and most.count >= least_share * total else None
