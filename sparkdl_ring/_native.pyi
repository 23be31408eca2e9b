"""Typed face of the native module. Only integers, bytes, strings and (pointer, count, dtype, op) cross.

Every call that can block drops the GIL and has a deadline. Failures raise the classes of
``sparkdl_ring.errors`` with ``rank`` (the rank to blame) and ``host`` set.
Dtype codes: 0 uint8, 1 int32, 2 int64, 3 float16, 4 bfloat16, 5 float32, 6 float64, 7 bool, 8 int8, 9 int16,
10 uint16, 11 uint32, 12 uint64, 13 float8_e4m3fn, 14 float8_e5m2. bool and float8 are moved, not reduced.
Op codes: 0 sum, 1 mean, 2 min, 3 max, 4 product.
"""

from collections.abc import Sequence

PROTOCOL_VERSION: int

class Work:
    """One submitted collective. Buffers must stay alive and untouched until it is done."""

    def wait(self, timeout_s: float | None = None) -> None:
        """Blocks until done; raises what failed. ``TimeoutError`` when ``timeout_s`` passes first."""

    def done(self) -> bool: ...

class Communicator:
    """Collectives of one group of ranks, run first in, first out by one progress thread.

    ``label`` is free text (name, shape) shown when ranks disagree; it takes part in the check.
    ``timeout_s`` is the deadline of the collective, counted from when it starts to run.
    """

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def transports(self) -> dict[int, str]:
        """Peer rank to transport name, own rank left out."""

    def allreduce(
        self, send: int, recv: int, count: int, dtype: int, op: int, timeout_s: float, label: str = ""
    ) -> Work:
        """``recv`` (may equal ``send``) gets the reduction of ``count`` elements over all ranks."""

    def broadcast(
        self, buffer: int, count: int, dtype: int, root: int, timeout_s: float, label: str = ""
    ) -> Work: ...
    def allgather(
        self, send: int, recv: int, counts: Sequence[int], dtype: int, timeout_s: float, label: str = ""
    ) -> Work:
        """Rank r gives ``counts[r]`` elements; ``recv`` holds all of them in rank order."""

    def reducescatter(
        self,
        send: int,
        recv: int,
        counts: Sequence[int],
        dtype: int,
        op: int,
        timeout_s: float,
        label: str = "",
    ) -> Work:
        """``send`` holds ``sum(counts)`` elements; ``recv`` gets its ``counts[rank]`` reduced ones."""

    def barrier(self, timeout_s: float, label: str = "") -> Work: ...
    def abort(self, reason: str) -> None:
        """Tells every peer why this rank ends; all pending and later work fails everywhere. Never blocks."""

    def close(self) -> None:
        """Leaves: ends the progress thread, closes every descriptor and mapping. Safe to call twice."""

class Listener:
    """The listening end of one rank, open from choice of port to connection.

    Args:
        host: Numeric address to bind and publish.
        transport: ``auto``, ``shm`` or ``tcp``.
        host_id: Identity of the machine as seen by shared memory; empty takes the boot id.
        port_range: Ports to choose from, ``"40000-40100"``; empty leaves the choice to the system.
    """

    def __init__(
        self, host: str, transport: str = "auto", host_id: str = "", port_range: str = ""
    ) -> None: ...
    @property
    def address(self) -> bytes:
        """Opaque bytes to give to every other rank (versioned; at most 1 KB)."""

    def connect(
        self,
        rank: int,
        addresses: Sequence[bytes],
        run_id: str,
        generation: int,
        secret: bytes,
        timeout_s: float,
        hosts: Sequence[str] = (),
    ) -> Communicator:
        """Meets all ranks (``addresses`` by rank); RendezvousTimeoutError names who is missing."""

    def close(self) -> None: ...

def inproc_group(size: int) -> list[Communicator]:
    """``size`` communicators in this process, one for each thread that plays a rank."""

def build_info() -> dict[str, str]:
    """Compiler and flags of this build, and the instruction sets its kernels can use here, best first."""
