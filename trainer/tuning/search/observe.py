"""What is seen of a launch once it is measured: its findings when they have settled, and what they rest on.

On a GPU a profiling window is opened first: without one, nobody can tell a GPU that waits for launches from
one that computes. The window comes after the measurement, which it would disturb.
"""

import contextlib
import time
from collections.abc import Callable, Sequence

import msgspec

from perftui.ipc.dashboard_link import DashboardLink, new_command_id
from perftui.ipc.dashboard_messages import ProfileCommand
from perftui.ipc.errors import PerftuiError
from perftui.ipc.facts import RankFacts
from perftui.ipc.findings import Finding
from perftui.ipc.host_view import HostView
from perftui.ipc.places import RunPlaces
from perftui.ipc.search_records import Picture
from perftui.ipc.view import RankView
from perftui.trainer.tuning.measure import Followed

_SETTLED_S = 3.0
"""A leading cause that stays for so long is taken for the one."""
_PATIENCE_S = 12.0
_SNAPSHOT_S = 3.0
_POLL_S = 0.5
_WINDOW_S = 120.0


def observe(places: RunPlaces, followed: Followed, cancelled: Callable[[], bool]) -> Picture:
    """Return what is seen of a launch; whatever its hub does not tell is left out, nothing is raised.

    Args:
        places: of the launch.
        followed: what was seen while it was measured.
        cancelled: asked often.
    """
    collector = followed.collector
    picture = picture_of(list(collector.ranks.values()), collector.findings, collector.host)
    if followed.over:
        return picture
    link = DashboardLink(places.dashboard_socket)
    try:
        with contextlib.suppress(PerftuiError):
            if any(rank.device.startswith("cuda") for rank in collector.ranks.values()):
                link.ask(ProfileCommand(command_id=new_command_id()), _WINDOW_S)
        with contextlib.suppress(PerftuiError):
            picture = _settled(link, cancelled) or picture
    finally:
        link.close()
    return picture


def _settled(link: DashboardLink, cancelled: Callable[[], bool]) -> Picture | None:
    """Return the picture once the leading finding stays the same, or patience is over."""
    began = since = time.monotonic()
    picture: Picture | None = None
    leading: str | None = None
    while not cancelled():
        update = link.snapshot(_SNAPSHOT_S)
        view = update.view
        picture = picture_of(view.ranks, view.findings, view.hosts[0] if view.hosts else None)
        first = view.findings[0].code if view.findings else None
        now = time.monotonic()
        if first != leading:
            leading, since = first, now
        sure = leading is not None and not leading.startswith("self.") and now - since >= _SETTLED_S
        if sure or now - began >= _PATIENCE_S:
            break
        time.sleep(_POLL_S)
    return picture


def picture_of(ranks: Sequence[RankView], findings: Sequence[Finding], host: HostView | None) -> Picture:
    """Return a picture from what a hub shows."""
    lead = min(ranks, key=lambda rank: rank.rank, default=None)
    waits = [rank.shares.loader_wait for rank in ranks if rank.shares.loader_wait is not None]
    facts = lead.facts if lead is not None and lead.facts is not None else RankFacts()
    used, total = (host.memory_used_mib, host.memory_total_mib) if host else (None, None)
    return Picture(
        findings=list(findings),
        device=lead.device if lead is not None else None,
        facts=msgspec.structs.replace(facts, stacks=None),  # large, and told by the findings
        in_force=dict(lead.settings) if lead is not None else {},
        ranks=max(1, len(ranks)),
        wait_share=max(waits, default=None),
        memory_free_mib=None if used is None or total is None else max(0.0, total - used),
        shm_free_mib=host.shm_free_mib if host else None,
    )
