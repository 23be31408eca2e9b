"""Says why each peer is reached as it is: for logs and ``doctor``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkdl_ring.comm.greeting import Greeting


def explain(
    rank: int, greetings: Sequence[Greeting], wish: str, transports: Mapping[int, str]
) -> dict[int, str]:
    """One sentence for each peer.

    Args:
        rank: Own rank.
        greetings: Everybody's greeting, by rank.
        wish: ``comm.transport``.
        transports: What the native module chose, by peer.
    """
    mine = greetings[rank]
    return {
        peer: f"{name}: {_reason(mine, greetings[peer], wish, name)}" for peer, name in transports.items()
    }


def _reason(mine: Greeting, other: Greeting, wish: str, name: str) -> str:
    together = mine.host_id == other.host_id
    if wish != "auto":
        return f"comm.transport={wish}"
    if name == "shm":
        return f"both ranks are on host {mine.host} and share its memory"
    if together:
        return (
            f"both ranks are on host {mine.host}, whose shared memory cannot be used; address {other.listen}"
        )
    return f"host {mine.host} and host {other.host} share no memory; address {other.listen}"
