"""Frames and the mutual challenge of the TCP rendezvous.

A connection starts with ``magic, nonce`` from each side; then each side proves that it knows the secret by
an HMAC-SHA256 over (magic, role, run id, generation, size, turn, rank, nonces). Nothing else is read before
the proof holds, and every length is bounded.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import struct
import time
from dataclasses import dataclass

from sparkdl_ring.errors import RendezvousError

MAGIC = b"sparkdl_ring rdzv 1\n"
NONCE_BYTES = 32
RANK_BYTES = 4
MAX_FRAME_BYTES = 16 << 20
_LENGTH = struct.Struct("!I")


@dataclass(frozen=True)
class Pass:
    """What both ends must agree on.

    Args:
        secret: The secret of the run.
        run_id: Name of the run.
        generation: Number of the membership.
        size: Number of ranks.
        turn: Number of the exchange, from 0.
    """

    secret: bytes
    run_id: str
    generation: int
    size: int
    turn: int

    def proof(self, role: bytes, rank: int, nonces: bytes) -> bytes:
        """The HMAC that ``role`` shows on a connection of client ``rank``."""
        about = f"{self.run_id}\0{self.generation}\0{self.size}\0{self.turn}\0{rank}".encode()
        return hmac.new(self.secret, b"\0".join([MAGIC, role, about]) + nonces, hashlib.sha256).digest()


def prove_client(sock: socket.socket, deadline: float, known: Pass, rank: int) -> None:
    """The client's half; raises :class:`RendezvousError` when the server is not of this run."""
    mine = secrets.token_bytes(NONCE_BYTES)
    send_all(sock, MAGIC + mine + rank.to_bytes(RANK_BYTES, "big"), deadline)
    nonces = _nonce(read_exactly(sock, len(MAGIC) + NONCE_BYTES, deadline)) + mine
    send_all(sock, known.proof(b"client", rank, nonces), deadline)
    _check(sock, deadline, known.proof(b"server", rank, nonces), known)


def prove_server(sock: socket.socket, deadline: float, known: Pass) -> int:
    """The server's half; returns the client's rank, which the client has proven to be allowed to claim.

    Raises:
        RendezvousError: The client is not of this run. It is told nothing.
    """
    mine = secrets.token_bytes(NONCE_BYTES)
    send_all(sock, MAGIC + mine, deadline)
    greeting = read_exactly(sock, len(MAGIC) + NONCE_BYTES + RANK_BYTES, deadline)
    rank = int.from_bytes(greeting[-RANK_BYTES:], "big")
    nonces = mine + _nonce(greeting[:-RANK_BYTES])
    _check(sock, deadline, known.proof(b"client", rank, nonces), known)
    send_all(sock, known.proof(b"server", rank, nonces), deadline)
    return rank


def _nonce(greeting: bytes) -> bytes:
    if not greeting.startswith(MAGIC):
        raise RendezvousError("the other end does not speak this protocol")
    return greeting[len(MAGIC) :]


def _check(sock: socket.socket, deadline: float, expected: bytes, known: Pass) -> None:
    try:
        shown = read_exactly(sock, len(expected), deadline)
    except ConnectionError as error:  # a server that refuses closes without a word
        raise RendezvousError(_stranger(known)) from error
    if not hmac.compare_digest(shown, expected):
        raise RendezvousError(_stranger(known))


def _stranger(known: Pass) -> str:
    return (
        f"the other end is not of run {known.run_id!r} with size {known.size}, "
        "or has another secret: see the logs of both ends"
    )


def send_frame(sock: socket.socket, data: bytes, deadline: float) -> None:
    """Sends a length and ``data``."""
    send_all(sock, _LENGTH.pack(len(data)) + data, deadline)


def read_frame(sock: socket.socket, deadline: float) -> bytes:
    """Reads what :func:`send_frame` sent."""
    (length,) = _LENGTH.unpack(read_exactly(sock, _LENGTH.size, deadline))
    if length > MAX_FRAME_BYTES:
        raise RendezvousError(f"a frame of {length} bytes is over the limit of {MAX_FRAME_BYTES}")
    return read_exactly(sock, length, deadline)


def send_all(sock: socket.socket, data: bytes, deadline: float) -> None:
    """Sends all of ``data`` before ``deadline`` (monotonic seconds)."""
    sock.settimeout(left(deadline))
    sock.sendall(data)


def read_exactly(sock: socket.socket, count: int, deadline: float) -> bytes:
    """Reads ``count`` bytes before ``deadline`` (monotonic seconds)."""
    parts = bytearray()
    while len(parts) < count:
        sock.settimeout(left(deadline))
        part = sock.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("the other end closed the connection")
        parts += part
    return bytes(parts)


def left(deadline: float) -> float:
    """Seconds until ``deadline``; raises :class:`TimeoutError` when it has passed."""
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError("deadline passed")
    return remaining
