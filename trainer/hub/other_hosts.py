"""What a run's hub needs of its part among the hubs of several hosts: the seam between lead and member."""

from typing import Protocol

import zmq

from perftui.ipc.host_links import HostLink
from perftui.ipc.messages import ToRank
from perftui.ipc.recording import Entry
from perftui.trainer.hub.served import Reply


class OtherHosts(Protocol):
    """The link to the hubs of other hosts; driven by the hub's one loop."""

    @property
    def note(self) -> str | None:
        """One line of news."""
        ...

    @property
    def sockets(self) -> "list[zmq.Socket[bytes]]":
        """What the loop's poller must watch."""
        ...

    @property
    def waits(self) -> bool:
        """Whether something is still to come or to be told, so that the hub should not end yet."""
        ...

    def turn(self) -> None:
        """Do what is due; some twenty times a second."""
        ...

    def heard(self, entry: Entry) -> None:
        """This hub has heard a rank of its own host, or read its sensors."""
        ...

    def links(self) -> list[HostLink]:
        """Return the run's hosts as they stand."""
        ...

    def stop(self, stopped_by: str) -> None:
        """Have the other hosts stop their parts of the training."""
        ...

    def to_rank(self, peer: bytes, order: ToRank) -> None:
        """Send an order to a rank of another host."""
        ...

    def reply(self, reply: Reply) -> bool:
        """Send it, where it is for a dashboard that came over TCP."""
        ...

    def close(self) -> None:
        """Close at once."""
        ...
