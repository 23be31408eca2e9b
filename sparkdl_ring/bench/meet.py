"""Further communicators for ranks that are connected already."""

from __future__ import annotations

import secrets

from sparkdl_ring.comm import Communicator, connect
from sparkdl_ring.config import CommConfig
from sparkdl_ring.world import World

_CONNECT_S = 60.0


class _Connected:
    """A rendezvous over a communicator."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self.rank, self.size = comm.rank, comm.size
        self.peers: tuple[str, ...] = ()

    def exchange(self, payload: bytes, timeout_s: float) -> list[bytes]:
        return [bytes(answer) for answer in self._comm.allgather_object(payload, timeout_s=timeout_s)]


def another(comm: Communicator, transport: str) -> Communicator:
    """A communicator of the same ranks over ``transport``. Collective.

    Raises:
        RendezvousError: The ranks could not connect that way.
    """
    run_id, secret = comm.broadcast_object((f"bench-{secrets.token_hex(4)}", secrets.token_bytes(32)))
    config = CommConfig(transport=transport, connect_timeout_s=_CONNECT_S, interface="127.0.0.1")
    world = World(comm.rank, comm.size, run_id=run_id)
    return connect(world, _Connected(comm), config, secret)
