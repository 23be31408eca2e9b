"""Further communicators for ranks that are connected already: with other settings, or of some of them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from sparkdl_ring.comm.communicator import Communicator
from sparkdl_ring.comm.connect import connect
from sparkdl_ring.config import CommConfig
from sparkdl_ring.world import World

_SECRET_BYTES = 32


class _Members:
    """A rendezvous of some ranks of a communicator; all of its ranks take part in the exchange."""

    def __init__(self, comm: Communicator, ranks: Sequence[int], peers: tuple[str, ...]) -> None:
        self._comm, self._ranks = comm, list(ranks)
        self.rank, self.size, self.peers = self._ranks.index(comm.rank), len(self._ranks), peers

    def exchange(self, payload: bytes, timeout_s: float) -> list[bytes]:
        answers = self._comm.allgather_object(payload, timeout_s=timeout_s)
        return [bytes(answers[rank]) for rank in self._ranks]


def regroup(
    comm: Communicator, config: CommConfig, ranks: Sequence[int] | None = None, peers: Sequence[str] = ()
) -> Communicator | None:
    """A new communicator of these ranks, numbered from 0 in the given order. All ranks of ``comm`` call it.

    Args:
        comm: The ranks as they are connected.
        config: The settings of the new communicator.
        ranks: Its members; default all.
        peers: Addresses of the others' hosts, as far as they are known.

    Returns:
        The communicator, or ``None`` on a rank that is no member.

    Raises:
        RendezvousError: The members could not connect that way.
    """
    members = list(range(comm.size)) if ranks is None else list(ranks)
    drawn = (f"group-{secrets.token_hex(8)}", secrets.token_bytes(_SECRET_BYTES))
    run_id, secret = comm.broadcast_object(drawn)
    if comm.rank not in members:
        comm.allgather_object(b"", timeout_s=config.connect_timeout_s)
        return None
    meeting = _Members(comm, members, tuple(peers))
    return connect(World(meeting.rank, meeting.size, run_id=run_id), meeting, config, secret)
