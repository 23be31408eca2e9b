"""The shuffle pool: rows of a shard are shuffled in pools of bounded size.

A shard is cut into pools of nearly equal size, none larger than the bound, and each pool is permuted.
Since row groups come in a new order each epoch, a row meets new neighbours in each. The order is a pure
function of (seed, epoch, rank, size) and of the bound; it does not depend on threads or file sizes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data.shards import shard_bounds

Indices = npt.NDArray[np.int64]


def pool_rows(row_bytes: int, config: DataConfig) -> int:
    """The bound of a pool in rows: what both settings, rows and bytes, allow; at least 1.

    Args:
        row_bytes: Bytes of one row over all columns of the dataset, wanted or not, so that the order does
            not change with the columns that are read.
        config: The settings.
    """
    return max(1, min(config.shuffle_rows, config.shuffle_bytes // max(1, row_bytes)))


def pools(rows: int, bound: int) -> list[tuple[int, int]]:
    """(first row, one past the last row) of each pool of a shard."""
    if rows == 0:
        return []
    count = -(-rows // bound)
    return [shard_bounds(rows, count, index) for index in range(count)]


def pool_orders(rows: int, bound: int, draws: np.random.Generator) -> Iterator[Indices]:
    """The permutation of each pool of a shard, one after the other.

    Args:
        rows: Rows of the shard.
        bound: Most rows of a pool.
        draws: Generator of this (seed, epoch, rank, size).
    """
    for start, stop in pools(rows, bound):
        yield draws.permutation(stop - start)
