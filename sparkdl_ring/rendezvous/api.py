"""How ranks find each other: one exchange of small messages, with a deadline."""

from __future__ import annotations

from typing import Protocol


class Rendezvous(Protocol):
    """The meeting point of the ranks of one run.

    Attributes:
        rank: Own rank.
        size: Number of ranks.
        peers: Numeric addresses of the other ranks' hosts as far as they are known before the meeting;
            empty when all ranks are on this host.
    """

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def peers(self) -> tuple[str, ...]: ...

    def exchange(self, payload: bytes, timeout_s: float) -> list[bytes]:
        """Gives ``payload`` to all ranks and returns everybody's, by rank.

        Args:
            payload: A few kilobytes at most.
            timeout_s: Longest wait for the others, in seconds.

        Raises:
            RendezvousTimeoutError: Not all ranks came; ``missing`` names them where that is known.
            RendezvousError: The ranks do not fit together.
        """
        ...
