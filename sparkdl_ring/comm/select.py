"""Says why each peer is reached as it is: for logs and ``doctor``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkdl_ring.comm.greeting import Greeting


def explain(
    greetings: Sequence[Greeting], transports: Mapping[int, str], reasons: Mapping[int, str]
) -> dict[int, str]:
    """One sentence for each peer.

    Args:
        greetings: Everybody's greeting, by rank.
        transports: What the native module chose, by peer.
        reasons: Why it chose so, in its own words, by peer.
    """
    return {peer: _sentence(greetings[peer], name, reasons[peer]) for peer, name in transports.items()}


def _sentence(peer: Greeting, name: str, reason: str) -> str:
    place = f"host {peer.host}" if name == "shm" else f"host {peer.host} at {peer.listen}"
    return f"{name} to {place}: {reason}"
