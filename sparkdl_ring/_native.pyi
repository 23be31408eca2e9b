"""Typed face of the native module. Only integers, bytes, strings and (pointer, count, dtype, op) cross.

Every call that can block drops the GIL and has a deadline. Failures raise the classes of
``sparkdl_ring.errors`` with ``rank`` (the rank to blame) and ``host`` set.
Dtype codes: 0 uint8, 1 int32, 2 int64, 3 float16, 4 bfloat16, 5 float32, 6 float64, 7 bool, 8 int8, 9 int16,
10 uint16, 11 uint32, 12 uint64, 13 float8_e4m3fn, 14 float8_e5m2. bool and float8 are moved, not reduced.
Op codes: 0 sum, 1 mean, 2 min, 3 max, 4 product.
"""

from collections.abc import Sequence
from typing import Any

PROTOCOL_VERSION: int

class Work:
    """One submitted collective. Buffers must stay alive and untouched until it is done."""

    def wait(self, timeout_s: float | None = None) -> None:
        """Blocks until done; raises what failed. ``TimeoutError`` when ``timeout_s`` passes first."""

    def done(self) -> bool: ...

class Communicator:
    """Collectives of one group of ranks, first in, first out, one at a time.

    Every collective comes twice: ``name`` submits it to the progress thread and returns a :class:`Work`;
    ``run_name`` blocks, and runs in the calling thread when nothing else is under way. Ctrl-C during a
    blocking one raises KeyboardInterrupt and aborts the communicator, so that the buffers are free then.

    ``label`` is free text (name, shape) shown when ranks disagree; it takes part in the check.
    ``timeout_s`` is the deadline of the collective, counted from when it starts to run.
    Of reductions: ``prescale`` multiplies every rank's values, ``postscale`` the result (floating types
    only); ``wire`` is the dtype code that float32 travels as between hosts (-1: as it is); ``residual`` the
    address of ``count`` float32 that keep what that rounding lost for the next call (0: lost).
    """

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def transports(self) -> dict[int, str]:
        """Peer rank to transport name, own rank left out."""

    @property
    def reasons(self) -> dict[int, str]:
        """Peer rank to the reason for its transport, where the native module knows one."""

    def allreduce(
        self,
        send: int,
        recv: int,
        count: int,
        dtype: int,
        op: int,
        timeout_s: float,
        label: str = "",
        prescale: float = 1.0,
        postscale: float = 1.0,
        wire: int = -1,
        residual: int = 0,
    ) -> Work:
        """``recv`` (may equal ``send``) gets the reduction of ``count`` elements over all ranks."""

    def run_allreduce(
        self,
        send: int,
        recv: int,
        count: int,
        dtype: int,
        op: int,
        timeout_s: float,
        label: str = "",
        prescale: float = 1.0,
        postscale: float = 1.0,
        wire: int = -1,
        residual: int = 0,
    ) -> None: ...
    def time_allreduce(
        self,
        send: int,
        recv: int,
        count: int,
        dtype: int,
        op: int,
        timeout_s: float,
        label: str = "",
        times: int = 1,
    ) -> float:
        """Seconds of one of ``times`` allreduces in a row with no Python between them."""

    def broadcast(
        self,
        buffer: int,
        count: int,
        dtype: int,
        root: int,
        timeout_s: float,
        label: str = "",
    ) -> Work: ...
    def run_broadcast(
        self,
        buffer: int,
        count: int,
        dtype: int,
        root: int,
        timeout_s: float,
        label: str = "",
    ) -> None: ...
    def allgather(
        self,
        send: int,
        recv: int,
        counts: Sequence[int],
        dtype: int,
        timeout_s: float,
        label: str = "",
    ) -> Work:
        """Rank r gives ``counts[r]`` elements; ``recv`` holds all of them in rank order."""

    def run_allgather(
        self,
        send: int,
        recv: int,
        counts: Sequence[int],
        dtype: int,
        timeout_s: float,
        label: str = "",
    ) -> None: ...
    def reducescatter(
        self,
        send: int,
        recv: int,
        counts: Sequence[int],
        dtype: int,
        op: int,
        timeout_s: float,
        label: str = "",
        prescale: float = 1.0,
        postscale: float = 1.0,
        wire: int = -1,
        residual: int = 0,
    ) -> Work:
        """``send`` holds ``sum(counts)`` elements; ``recv`` gets its ``counts[rank]`` reduced ones."""

    def run_reducescatter(
        self,
        send: int,
        recv: int,
        counts: Sequence[int],
        dtype: int,
        op: int,
        timeout_s: float,
        label: str = "",
        prescale: float = 1.0,
        postscale: float = 1.0,
        wire: int = -1,
        residual: int = 0,
    ) -> None: ...
    def grouped_allreduce(
        self,
        members: Sequence[tuple[int, int, int, int]],
        op: int,
        timeout_s: float,
        label: str = "",
        prescale: float = 1.0,
        postscale: float = 1.0,
    ) -> Work:
        """Many arrays (send, recv, count, dtype) as one operation; small neighbours share a buffer."""

    def run_grouped_allreduce(
        self,
        members: Sequence[tuple[int, int, int, int]],
        op: int,
        timeout_s: float,
        label: str = "",
        prescale: float = 1.0,
        postscale: float = 1.0,
    ) -> None: ...
    def alltoall(
        self,
        send: int,
        send_counts: Sequence[int],
        recv: int,
        recv_counts: Sequence[int],
        dtype: int,
        timeout_s: float,
        label: str = "",
    ) -> Work:
        """Elements to and from each rank; the parts lie in rank order and may not overlap."""

    def run_alltoall(
        self,
        send: int,
        send_counts: Sequence[int],
        recv: int,
        recv_counts: Sequence[int],
        dtype: int,
        timeout_s: float,
        label: str = "",
    ) -> None: ...
    def barrier(self, timeout_s: float, label: str = "") -> Work: ...
    def run_barrier(self, timeout_s: float, label: str = "") -> None: ...
    def new_group(self, ranks: Sequence[int], timeout_s: float, label: str = "") -> Communicator | None:
        """These ranks, numbered in the given order; ``None`` elsewhere. Blocks; all ranks call it alike.

        It shares sockets and memory with this communicator, and ends and fails with it.
        """

    def allocate(self, bytes: int, timeout_s: float, label: str = "") -> Window:
        """Memory that ranks of one host reduce in place; private memory where they share none.

        Like the next two: blocks, and all ranks call it alike. The memory lives as long as the window.
        """

    def adopt(self, address: int, bytes: int, timeout_s: float, label: str = "") -> Window | None:
        """Puts shared pages beneath the caller's own memory; ``None`` where that cannot be had.

        The contents stay. Nobody may write meanwhile, and the memory must live until it is released.
        """

    def release(self, window: Window, timeout_s: float, label: str = "") -> None:
        """Gives adopted memory its private pages back; allocated memory may not be touched any more."""

    def stats(self) -> dict[str, dict[str, float]]:
        """By kind of collective, of all groups: calls, bytes, total_s, wait_s, reduce_s, wire_sent_bytes,
        wire_received_bytes (without headers, and without what ranks of a host give each other).
        """

    def recent(self) -> list[dict[str, Any]]:
        """The last 256 operations of all groups, oldest first; times are those of time.monotonic_ns."""

    def trace(self, capacity: int) -> None:
        """Keeps up to ``capacity`` ended operations from now on, until they are taken."""

    def take_trace(self) -> list[dict[str, Any]]:
        """What the trace holds, which is empty then."""

    def abort(self, reason: str) -> None:
        """Tells every peer why this rank ends; all pending and later work fails everywhere. Never blocks."""

    def close(self) -> None:
        """Leaves: ends the progress thread, closes every descriptor and mapping. Safe to call twice.

        A group of some ranks ends with the communicator of all.
        """

class Window:
    """Memory that ranks of one host reduce in place."""

    @property
    def address(self) -> int: ...
    @property
    def bytes(self) -> int: ...

class TcpOptions:
    """How the TCP links of one rank are made.

    Args:
        port_range: Ports to choose from, ``"40000-40100"``; empty leaves the choice to the system.
        tls: TLS 1.3 on all TCP connections, keyed by the secret; the same on every rank. Needs OpenSSL:
            MissingDependencyError where it cannot be loaded.
        streams: Data connections of each link, 1 to 16; the smaller number of the two ends counts.
        socket_buffer_bytes: Of each socket each way; 0 lets the system adapt it.
    """

    def __init__(
        self,
        *,
        port_range: str = "",
        tls: bool = False,
        streams: int = 1,
        socket_buffer_bytes: int = 0,
    ) -> None: ...

class Listener:
    """The listening end of one rank, open from choice of port to connection.

    Args:
        host: Numeric address to bind and publish.
        transport: ``auto``, ``shm`` or ``tcp``.
        host_id: Identity of the machine as seen by shared memory; empty takes the boot id.
        tcp: How its TCP links are made.
    """

    def __init__(
        self, host: str, transport: str = "auto", host_id: str = "", tcp: TcpOptions = ...
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

    @property
    def refusals(self) -> str:
        """Who was shown out while the ranks met, "3 silent, 1 without the secret"; empty when nobody was."""

    def close(self) -> None: ...

class DeviceWork:
    """One submitted collective on device memory. Buffers must stay alive and untouched until it is done."""

    def order(self, stream: int, timeout_s: float | None = None) -> None:
        """Makes what is queued on ``stream`` from now on wait for the result; raises what is known to fail.

        By NCCL it does not block; staged it blocks until the last copy is queued.
        """

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Blocks until done; raises what failed. ``TimeoutError`` when ``timeout_s`` passes first."""

    def done(self) -> bool: ...

class DeviceCommunicator:
    """Collectives of one group of ranks on memory of one device each: by NCCL, or staged through the host.

    Addresses are those of device memory, ``stream`` a CUstream as an integer: what is queued there comes
    first. Nothing here waits for the device. Failures end the host communicator too, and the other way round.
    """

    @staticmethod
    def connect(
        host: Communicator,
        device: int,
        mode: str,
        timeout_s: float,
        nccl_path: str = "",
        nccl_folder: str = "",
        cuda_path: str = "",
        may_share: bool = False,
        checked: bool = True,
    ) -> DeviceCommunicator:
        """All ranks of ``host`` call it, each with its device. ``mode``: ``auto``, ``nccl`` or ``staged``."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def is_staged(self) -> bool: ...
    @property
    def reason(self) -> str:
        """Why it is staged, or which NCCL does the work."""

    @property
    def device(self) -> str: ...
    def allreduce(
        self,
        send: int,
        recv: int,
        count: int,
        dtype: int,
        op: int,
        stream: int,
        timeout_s: float,
        label: str = "",
        prescale: float = 1.0,
        postscale: float = 1.0,
    ) -> DeviceWork: ...
    def grouped_allreduce(
        self,
        members: Sequence[tuple[int, int, int, int]],
        op: int,
        stream: int,
        timeout_s: float,
        label: str = "",
        prescale: float = 1.0,
        postscale: float = 1.0,
    ) -> DeviceWork:
        """Many arrays (send, recv, count, dtype) as one launch."""

    def reducescatter(
        self,
        send: int,
        recv: int,
        counts: Sequence[int],
        dtype: int,
        op: int,
        stream: int,
        timeout_s: float,
        label: str = "",
        prescale: float = 1.0,
        postscale: float = 1.0,
    ) -> DeviceWork: ...
    def allgather(
        self,
        send: int,
        recv: int,
        counts: Sequence[int],
        dtype: int,
        stream: int,
        timeout_s: float,
        label: str = "",
    ) -> DeviceWork: ...
    def broadcast(
        self, buffer: int, count: int, dtype: int, root: int, stream: int, timeout_s: float, label: str = ""
    ) -> DeviceWork: ...
    def alltoall(
        self,
        send: int,
        send_counts: Sequence[int],
        recv: int,
        recv_counts: Sequence[int],
        dtype: int,
        stream: int,
        timeout_s: float,
        label: str = "",
    ) -> DeviceWork: ...
    def barrier(self, stream: int, timeout_s: float, label: str = "") -> DeviceWork: ...
    def register_buffer(self, address: int, bytes: int) -> int:
        """Tells NCCL that this memory is used again and again; 0 where that does nothing."""

    def deregister_buffer(self, handle: int) -> None: ...
    def split(self, color: int, child: Communicator | None, timeout_s: float) -> DeviceCommunicator | None:
        """All ranks call it; ``child`` is the host communicator of the own color, ``None`` for no part."""

    def close(self, timeout_s: float) -> None:
        """Leaves when what is queued is done, or after ``timeout_s``. Safe to call twice."""

def device_of(address: int, cuda_path: str = "") -> int:
    """Number of the device whose memory an address is; -1 for none."""

def inproc_group(size: int) -> list[Communicator]:
    """``size`` communicators in this process, one for each thread that plays a rank."""

def address_of(array: object) -> int:
    """Address of the first byte of a C-contiguous buffer, read-only ones too."""

class Forecast:
    """What an allreduce will do, by the cost model that chooses its algorithm."""

    @property
    def algorithm(self) -> str:
        """``exchange``, ``pairwise``, ``ring``, ``tree``, or ``shared memory`` on one host."""

    @property
    def seconds(self) -> float: ...
    @property
    def host_bytes(self) -> float:
        """Bytes that leave each host over the wire, and as many come."""

    @property
    def text(self) -> str:
        """Stages, choice with reasons, steps, bytes."""

def forecast(
    ranks: int, hosts: int, bytes: int, dtype: int, op: int, wire: int, alpha_s: float, bytes_per_s: float
) -> Forecast:
    """An allreduce over ``ranks`` spread evenly over ``hosts``.

    A message takes ``alpha_s``; a host's link moves ``bytes_per_s`` each way. ``wire``: what float32 is
    compressed to, else ``dtype``.
    """

def build_info() -> dict[str, str]:
    """Compiler and flags of this build, and the instruction sets its kernels can use here, best first."""
