"""Latency and bandwidth between every two ranks of a communicator, each pair on its own."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from sparkdl_ring.comm import Communicator
from sparkdl_ring.comm.regroup import regroup
from sparkdl_ring.config import CommConfig

_WARM_UP_CALLS = 20
_LATENCY_CALLS = 200
_PIECE_BYTES = 4 << 20
_MOST_PIECES = 256
_ALL_PAIRS_UP_TO = 8
SLOW_SHARE = 0.5


@dataclass(frozen=True)
class LinkFigures:
    """One pair of ranks.

    Args:
        pair: The two ranks, the lower one first.
        transport: ``shm`` or ``tcp``.
        reason: Why, in words.
        latency_s: Seconds of an allreduce of 4 bytes, the median: one message each way at once.
        forth: Bytes per second from the lower rank to the higher.
        back: The other way.
    """

    pair: tuple[int, int]
    transport: str
    reason: str
    latency_s: float
    forth: float
    back: float

    @property
    def slower(self) -> float:
        """Bytes per second of the slower direction."""
        return min(self.forth, self.back)


def pairs_of(size: int) -> list[tuple[int, int]]:
    """All pairs among few ranks; among many the neighbours of the ring, and rank 0 with each."""
    if size <= _ALL_PAIRS_UP_TO:
        return list(itertools.combinations(range(size), 2))
    ring = {(rank, rank + 1) for rank in range(size - 1)}
    return sorted(ring | {(0, rank) for rank in range(1, size)})


def measure_links(comm: Communicator, config: CommConfig, sample_s: float = 0.2) -> list[LinkFigures]:
    """Measures every pair, one after the other, the rest silent. All ranks call it; all get the figures.

    Args:
        comm: The ranks.
        config: Settings of the pairs' own communicators; ``interface`` should name the address to listen on.
        sample_s: Seconds that each direction is measured for, roughly.

    Raises:
        RingError: A pair could not connect or was lost.
    """
    mine = []
    for pair in pairs_of(comm.size):
        together = regroup(comm, config, pair)
        if together is None:
            continue
        with together:
            figures = _measure(together, pair, sample_s)
        if together.rank == 0:
            mine.append(figures)
    found = [figures for part in comm.allgather_object(mine) for figures in part]
    return sorted(found, key=lambda figures: figures.pair)


def slow_links(figures: Sequence[LinkFigures]) -> list[LinkFigures]:
    """Links that carry less than half of what is usual for their transport here."""
    slow = []
    for link in figures:
        alike = [other.slower for other in figures if other.transport == link.transport]
        if len(alike) > 1 and link.slower < SLOW_SHARE * median(alike):
            slow.append(link)
    return slow


def _measure(comm: Communicator, pair: tuple[int, int], sample_s: float) -> LinkFigures:
    latency_s = _latency(comm)
    forth, back = (_bandwidth(comm, root, sample_s) for root in (0, 1))
    other = 1 - comm.rank
    return LinkFigures(pair, comm.transports[other], comm.reasons.get(other, ""), latency_s, forth, back)


def _latency(comm: Communicator) -> float:
    one = np.ones(1, np.float32)
    for _ in range(_WARM_UP_CALLS):
        comm.allreduce_(one)
    seconds = []
    for _ in range(_LATENCY_CALLS):
        begin = time.perf_counter()
        comm.allreduce_(one)
        seconds.append(time.perf_counter() - begin)
    return median(seconds)


def _bandwidth(comm: Communicator, root: int, sample_s: float) -> float:
    """Bytes per second from ``root`` to the other: pieces until the time is up, closed by a barrier."""
    piece = np.ones(_PIECE_BYTES // 4, np.float32)
    first_s = _send(comm, piece, root, 1)
    num_pieces: int = comm.broadcast_object(max(1, min(_MOST_PIECES, int(sample_s / first_s))))
    return num_pieces * piece.nbytes / _send(comm, piece, root, num_pieces)


def _send(
    comm: Communicator, piece: np.ndarray[tuple[int], np.dtype[np.float32]], root: int, times: int
) -> float:
    comm.barrier()
    begin = time.perf_counter()
    for _ in range(times):
        comm.broadcast_(piece, root)
    comm.barrier()
    return time.perf_counter() - begin
