"""Heartbeats of ZeroMQ, the same at both ends of a link: a peer that is cut off is noticed within seconds."""

import zmq

HEARTBEATS = {zmq.HEARTBEAT_IVL: 500, zmq.HEARTBEAT_TIMEOUT: 2000}
"""Milliseconds, by option."""
