"""Collectives whose results are known beforehand: what ranks do while faults strike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SMALL_ELEMENTS, LARGE_ELEMENTS = 300, 600_000
DTYPES = ("float32", "float64", "int32", "float16")


class WrongResultError(AssertionError):
    """A collective ended well and gave a wrong value."""


class Workload:
    """The same sequence of collectives on every rank.

    Args:
        comm: The ranks.
        seed: Decides the sequence.
        large: Megabytes instead of a few hundred bytes.
    """

    def __init__(self, comm: Any, seed: int, large: bool) -> None:
        self._comm = comm
        self._random = np.random.default_rng(seed)
        self._most = LARGE_ELEMENTS if large else SMALL_ELEMENTS
        kinds = [self._allreduce, self._allreduce, self._broadcast, self._allgather, self._reducescatter]
        self._kinds: list[Callable[[int, str], None]] = [*kinds, self._barrier]
        self._kinds += [self._alltoall, self._grouped, self._in_group]
        self._group: Any = None
        self._lie = 0

    def lie(self) -> None:
        """From now on this rank gives other values than the others think."""
        self._lie = 1

    def step(self) -> None:
        """One collective, checked.

        Raises:
            WrongResultError: It gave a wrong value.
        """
        kind = self._kinds[self._random.integers(len(self._kinds))]
        count = int(self._random.integers(1, self._most))
        kind(count, DTYPES[self._random.integers(len(DTYPES))])

    def _mine(self, count: int, dtype: str, rank: int | None = None) -> Any:
        start = self._comm.rank + self._lie if rank is None else rank
        return (np.arange(count) % 7 + start + 1).astype(dtype)

    def _total(self, count: int, dtype: str) -> Any:
        return sum(self._mine(count, dtype, rank).astype("float64") for rank in range(self._comm.size))

    def _expect(self, got: Any, expected: Any, what: str) -> None:
        if got.shape != expected.shape or not np.array_equal(got.astype("float64"), expected):
            raise WrongResultError(f"{what} on rank {self._comm.rank}: {got[:8]} instead of {expected[:8]}")

    def _allreduce(self, count: int, dtype: str) -> None:
        array = self._mine(count, dtype)
        self._comm.allreduce_(array, "sum")
        self._expect(array, self._total(count, dtype), f"allreduce of {count} {dtype}")

    def _broadcast(self, count: int, dtype: str) -> None:
        root = count % self._comm.size
        array = self._mine(count, dtype)
        self._comm.broadcast_(array, root)
        self._expect(array, self._mine(count, dtype, root).astype("float64"), f"broadcast from {root}")

    def _allgather(self, count: int, dtype: str) -> None:
        parts = [self._mine(count + rank, dtype, rank) for rank in range(self._comm.size)]
        got = self._comm.allgather(parts[self._comm.rank])
        self._expect(got, np.concatenate(parts).astype("float64"), "allgather")

    def _reducescatter(self, count: int, dtype: str) -> None:
        got = self._comm.reducescatter(self._mine(count, dtype), "sum")
        parts = np.array_split(self._total(count, dtype), self._comm.size)
        self._expect(got, parts[self._comm.rank], "reducescatter")

    def _barrier(self, _count: int, _dtype: str) -> None:
        self._comm.barrier()

    def _alltoall(self, count: int, dtype: str) -> None:
        size, rank = self._comm.size, self._comm.rank
        got, _ = self._comm.alltoall(self._mine(count * size, dtype))
        parts = [
            self._mine(count * size, dtype, peer)[count * rank : count * (rank + 1)] for peer in range(size)
        ]
        self._expect(got, np.concatenate(parts).astype("float64"), "alltoall")

    def _grouped(self, count: int, dtype: str) -> None:
        counts = (count, 1, count // 2 + 1)
        arrays = [self._mine(n, dtype) for n in counts]
        for array, n in zip(self._comm.grouped_allreduce(arrays, "sum"), counts, strict=True):
            self._expect(array, self._total(n, dtype), f"grouped allreduce of {n} {dtype}")

    def _in_group(self, count: int, dtype: str) -> None:
        """All but rank 0, in an order of their own."""
        members = list(range(self._comm.size - 1, 0, -1))
        if self._group is None:
            self._group = (self._comm.new_group(members),)
        (group,) = self._group
        if group is not None:
            got = group.allreduce(self._mine(count, dtype), "max")
            self._expect(got, self._mine(count, dtype, members[0]).astype("float64"), "allreduce in a group")
