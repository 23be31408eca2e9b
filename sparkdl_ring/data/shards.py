"""Which rows each rank reads, and in how many steps. Pure functions: no input or output, no state.

Row groups are shuffled by (seed, epoch), laid end to end, and cut into ``size`` shards at exact rows, so
that shards differ by at most one row whatever the files look like. A shard is a list of row ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparkdl_ring.errors import ConfigError

RowGroups = Sequence[Sequence[int]]
"""Rows of each row group of each file."""

_GROUPS, _ROWS = 1, 2
"""Purposes of random draws: two draws of one (seed, epoch) must not be the same."""


@dataclass(frozen=True)
class RowRange:
    """Rows ``start`` to ``stop`` of one row group.

    Args:
        file: Index of the file.
        row_group: Index of the row group in the file.
        start: First row, counted from 0 inside the row group.
        stop: One past the last row.
    """

    file: int
    row_group: int
    start: int
    stop: int

    @property
    def rows(self) -> int:
        """Number of rows, at least 1."""
        return self.stop - self.start


def generator(seed: int, *purpose: int) -> np.random.Generator:
    """A random generator that depends on its arguments only."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed % 2**64, *purpose))))


def group_generator(seed: int, epoch: int) -> np.random.Generator:
    """Draws the order of row groups: the same on every rank."""
    return generator(seed, epoch, _GROUPS)


def row_generator(seed: int, epoch: int, rank: int, size: int) -> np.random.Generator:
    """Draws the order of rows inside the shuffle pool of one rank."""
    return generator(seed, epoch, _ROWS, rank, size)


def shard_bounds(rows: int, size: int, rank: int) -> tuple[int, int]:
    """First row and one past the last row of a shard; the first ``rows % size`` shards have one row more."""
    if rows < 0 or not 0 <= rank < size:
        raise ConfigError(f"no shard {rank} of {size} over {rows} rows")
    base, extra = divmod(rows, size)
    start = rank * base + min(rank, extra)
    return start, start + base + (rank < extra)


def plan(row_groups: RowGroups, size: int, rank: int, seed: int, epoch: int, shuffle: bool) -> list[RowRange]:
    """The row ranges of one rank in one epoch, in reading order.

    Args:
        row_groups: Rows of each row group of each file; empty ones are skipped.
        size: Number of ranks.
        rank: The rank that asks.
        seed: Seed of the run, the same on all ranks.
        epoch: Counted from 0.
        shuffle: Whether row groups are shuffled.

    Returns:
        Ranges of at least one row; over all ranks every row is in exactly one. Empty when there are fewer
        rows than ranks and this rank gets none.
    """
    table = [(f, g, rows) for f, groups in enumerate(row_groups) for g, rows in enumerate(groups) if rows]
    order = np.arange(len(table))
    if shuffle:
        order = group_generator(seed, epoch).permutation(len(table))
    ends = np.cumsum([table[i][2] for i in order], dtype=np.int64)
    first, last = shard_bounds(int(ends[-1]) if len(ends) else 0, size, rank)
    ranges = []
    at = int(np.searchsorted(ends, first, side="right"))
    while first < last:
        file, group, rows = table[order[at]]
        begin = int(ends[at]) - rows
        stop = min(last, begin + rows)
        ranges.append(RowRange(file, group, first - begin, stop - begin))
        first, at = stop, at + 1
    return ranges


def batch_bounds(rows: int, batch_size: int, spread_tail: bool = False) -> list[tuple[int, int]]:
    """Cuts a shard into batches.

    Args:
        rows: Rows of the shard.
        batch_size: Rows of a batch; the last one may be smaller.
        spread_tail: Merge a last batch of exactly one row into the one before it.

    Returns:
        (first row, one past the last row) of each batch.
    """
    if batch_size < 1:
        raise ConfigError(f"batch_size is {batch_size}: it must be at least 1")
    starts = list(range(0, rows, batch_size))
    if spread_tail and batch_size > 1 and len(starts) > 1 and rows % batch_size == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], rows], strict=True)) if starts else []


def num_steps(rows: int, size: int, batch_size: int, spread_tail: bool = False) -> int:
    """Steps of one epoch: the most batches that any rank has. The same on every rank.

    Args:
        rows: Rows of the whole dataset.
        size: Number of ranks.
        batch_size: Rows of one rank's batch.
        spread_tail: See :func:`batch_bounds`.
    """
    shards = {stop - start for start, stop in (shard_bounds(rows, size, rank) for rank in (0, size - 1))}
    return max(len(batch_bounds(shard, batch_size, spread_tail)) for shard in shards)
