"""A queue of rows: chunks of any size go in, exact numbers of rows come out."""

from __future__ import annotations

from collections import deque

import numpy as np

from sparkdl_ring.data.schema import Columns


class RowQueue:
    """First in, first out. A chunk is consumed by views; :meth:`take` copies what it gives exactly once."""

    def __init__(self) -> None:
        self._chunks: deque[Columns] = deque()
        self._used = 0
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def push(self, columns: Columns) -> None:
        """Adds rows; the arrays must not change afterwards."""
        rows = len(next(iter(columns.values())))
        if rows:
            self._chunks.append(columns)
            self._rows += rows

    def take(self, rows: int) -> Columns:
        """Removes the next rows.

        Args:
            rows: How many, at least 1 and no more than ``len(self)``.

        Returns:
            Contiguous arrays that share no memory with what was pushed.
        """
        parts = []
        self._rows -= rows
        while rows:
            chunk = self._chunks[0]
            left = len(next(iter(chunk.values()))) - self._used
            step = min(left, rows)
            parts.append({name: array[self._used : self._used + step] for name, array in chunk.items()})
            self._used += step
            rows -= step
            if step == left:
                self._chunks.popleft()
                self._used = 0
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
