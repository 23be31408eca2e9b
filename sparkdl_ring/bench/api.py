"""What is measured, and what came of it: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy.typing as npt

Condition = Literal["quiet", "coscheduled", "loaded"]
Memory = Literal["private", "registered"]

KB, MB = 1 << 10, 1 << 20
SIZES = (4, KB, 64 * KB, MB, 16 * MB, 64 * MB, 256 * MB)
ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
TRANSPORTS = ("shm", "tcp", "tls")
# From here on buffers are rewritten before each call, as a backward pass does, and each call is timed alone.
REWRITTEN_FROM_BYTES = 64 * KB


@dataclass(frozen=True)
class Plan:
    """One run of the allreduce bench.

    Args:
        ranks: Numbers of rank processes, one launch each.
        transports: Of ``shm``, ``tcp`` and ``tls`` (TCP inside TLS).
        dtypes: Element types.
        sizes: Bytes of the buffer.
        rounds: How often everything is measured, interleaved; medians are over all samples of all rounds.
        sample_s: Seconds that one sample takes at least (one call where that is longer).
        condition: ``quiet``: as the machine is; ``coscheduled``: raised priority, and a sleep as long as the
            sample after each one; ``loaded``: a busy loop on each core.
        baselines: Measure torch's gloo as well.
        mpi: Paths of ``mpirun`` commands to measure as well.
    """

    ranks: tuple[int, ...] = (2, 4)
    transports: tuple[str, ...] = ("shm", "tcp")
    dtypes: tuple[str, ...] = ("float32", "float16", "bfloat16")
    sizes: tuple[int, ...] = SIZES
    rounds: int = 7
    sample_s: float = 0.012
    condition: Condition = "quiet"
    baselines: bool = True
    mpi: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One buffer to reduce.

    Args:
        dtype: Element type.
        num_bytes: Its size; at least one element.
    """

    dtype: str
    num_bytes: int

    @property
    def count(self) -> int:
        """Number of elements."""
        return max(1, self.num_bytes // ITEM_BYTES[self.dtype])


@dataclass(frozen=True)
class Method:
    """One way to reduce it.

    Args:
        library: ``ring``, ``gloo``, or the name of an MPI.
        transport: ``shm``, ``tcp``, or empty where the library decides.
        memory: ``private``, or ``registered``: the buffer lies in shared memory.
        call: ``native``: the extension's function with ready arguments; ``api``: the library's Python call;
            ``c``: a C program.
    """

    library: str
    transport: str = ""
    memory: Memory = "private"
    call: str = "native"

    @property
    def name(self) -> str:
        """All of it in one word."""
        parts = [self.library, self.transport]
        if self.memory == "registered":
            parts.append("reg")
        if self.library == "ring" and self.call == "api":
            parts.append("api")
        return "-".join(part for part in parts if part)


@dataclass(frozen=True)
class Sample:
    """Seconds of one call, as one rank saw it.

    Args:
        cell: What was reduced.
        method: How.
        seconds: Mean over the calls of this sample.
    """

    cell: Cell
    method: Method
    seconds: float


class Contender(Protocol):
    """One method on one buffer."""

    @property
    def method(self) -> Method: ...

    @property
    def words(self) -> npt.NDArray[Any]:
        """The buffer, as the array that is rewritten before each call."""

    def call(self) -> None:
        """One allreduce, in place, until the result is there."""


@dataclass(frozen=True)
class Row:
    """What came of one method on one cell; times are the maximum over the ranks.

    Args:
        num_ranks: Rank processes.
        condition: As in :class:`Plan`.
        cell: What was reduced.
        method: How.
        num_samples: Samples over all rounds.
        median_s: Seconds of one call, the median.
        min_s: The least.
    """

    num_ranks: int
    condition: Condition
    cell: Cell
    method: Method
    num_samples: int
    median_s: float
    min_s: float
