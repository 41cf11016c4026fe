"""Opens a hub's side of the link between hosts, again where it fails: the run goes on without it."""

import time
from collections.abc import Callable
from pathlib import Path

from perftui.ipc.errors import PerftuiError
from perftui.ipc.host_addresses import HostPort
from perftui.ipc.lead_socket import LeadSocket
from perftui.ipc.link_keys import read_key
from perftui.ipc.member_socket import MemberSocket
from perftui.ipc.run_files import HostsPlan
from perftui.trainer.hub.lead_side import LeadSide
from perftui.trainer.hub.live_run import LiveRun
from perftui.trainer.hub.member_side import MemberSide
from perftui.trainer.hub.other_hosts import OtherHosts
from perftui.trainer.hub.rank_intake import RankIntake
from perftui.trainer.hub.served import Reply
from perftui.trainer.hub.server import DashboardServer

_AGAIN_S = 2.0


class Joining:
    """Opens it once, as the plan says.

    Args:
        plan: of this host.
    """

    def __init__(self, plan: HostsPlan) -> None:
        self._plan = plan
        self._due_s = 0.0
        self.failure: str | None = None
        """Why it is not open, in one line."""

    def opened(
        self, run: LiveRun, intake: RankIntake, server: DashboardServer, tell: Callable[[Reply], None]
    ) -> OtherHosts | None:
        """Return it if it could be opened now; None: later."""
        now = time.monotonic()
        if now < self._due_s:
            return None
        self._due_s = now + _AGAIN_S
        plan = self._plan
        try:
            key = read_key(Path(plan.key))
            if plan.role == "lead":
                socket = LeadSocket(plan.host, plan.port, key.lead_keys())
                return LeadSide(socket, run, intake, server, tell)
            at = HostPort(plan.host, plan.port)
            return MemberSide(MemberSocket(at, key.peer_keys("host")), at, run)
        except PerftuiError as error:
            self.failure = f"no link to other hosts: {error}"
            return None
