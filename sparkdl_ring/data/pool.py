"""From pieces to rows in final order: count, gather in pools, permute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sparkdl_ring.data.decode import Piece, check_rows
from sparkdl_ring.data.rows import RowQueue
from sparkdl_ring.data.schema import Columns
from sparkdl_ring.data.shuffle import Indices, pool_orders, pools
from sparkdl_ring.store import Store


def counted(store: Store, pieces: Sequence[Piece], chunks: Iterator[Columns]) -> Iterator[Columns]:
    """Passes chunks on and compares each with its piece.

    Raises:
        ShortReadError: A piece has not come, or with other rows than planned.
    """
    for piece in pieces:
        columns = next(chunks, None)
        got = {0} if columns is None else {len(array) for array in columns.values()}
        for rows in got:
            check_rows(store, piece, rows, piece.rows)
        assert columns is not None
        yield columns


class StraightRows:
    """Rows in the order in which they are stored.

    Args:
        chunks: Gives at least as many rows as are taken.
    """

    def __init__(self, chunks: Iterator[Columns]) -> None:
        self._chunks = chunks
        self._queue = RowQueue()

    def take(self, rows: int) -> Columns:
        """The next rows, in memory of their own."""
        while len(self._queue) < rows:
            self._queue.push(next(self._chunks))
        return self._queue.take(rows)


class ShuffledRows:
    """Rows permuted pool by pool.

    Args:
        straight: All rows of a shard as they are stored.
        rows: Rows of the shard.
        bound: Most rows of a pool.
        draws: Generator of this (seed, epoch, rank, size).
    """

    def __init__(self, straight: StraightRows, rows: int, bound: int, draws: np.random.Generator) -> None:
        self._straight = straight
        self._sizes = iter([stop - start for start, stop in pools(rows, bound)])
        self._orders = pool_orders(rows, bound, draws)
        self._pool: Columns = {}
        self._order: Indices = np.empty(0, np.int64)

    def take(self, rows: int) -> Columns:
        """The next rows, in memory of their own."""
        parts = []
        while rows:
            if not len(self._order):
                self._pool = {}  # before the next one is read, not after
                self._pool = self._straight.take(next(self._sizes))
                self._order = next(self._orders)
            picks, self._order = self._order[:rows], self._order[rows:]
            parts.append({name: array.take(picks, axis=0) for name, array in self._pool.items()})
            rows -= len(picks)
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
