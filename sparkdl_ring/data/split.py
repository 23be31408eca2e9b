"""Which rows are kept apart for validation: decided row by row, in the pass that writes them.

A share is drawn from one generator a partition, so that the draw depends on (seed, partition, row) alone.
Where a draw leaves one side empty (few rows), the driver pins one row to that side and writes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkdl_ring.data.options import Split
from sparkdl_ring.data.shards import generator

_DRAW, _PIN = 3, 4
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Pin:
    """One row whose side is fixed.

    Args:
        partition: Its partition.
        row: Its index in the partition.
        validation: Its side.
    """

    partition: int
    row: int
    validation: bool


class Splitter:
    """Says for consecutive rows of one partition which go to validation.

    Args:
        split: The rule.
        partition: The partition.
        pin: A row whose side is fixed.
    """

    def __init__(self, split: Split, partition: int, pin: Pin | None = None) -> None:
        self._split = split
        self._draws = generator(split.seed, partition, _DRAW)
        self._pinned = pin if pin is not None and pin.partition == partition else None
        self._at = 0

    def mask(self, rows: int, column: pa.Array | None) -> Mask:
        """True where a row is kept for validation.

        Args:
            rows: Number of the next rows.
            column: Their values of the validation column, where one decides.
        """
        if column is not None:
            chosen = column.to_numpy(zero_copy_only=False) != 0
        elif isinstance(self._split.validation, float):
            chosen = self._draws.random(rows) < self._split.validation
        else:
            chosen = np.zeros(rows, dtype=bool)
        if self._pinned is not None and 0 <= self._pinned.row - self._at < rows:
            chosen[self._pinned.row - self._at] = self._pinned.validation
        self._at += rows
        return np.asarray(chosen, dtype=bool)


def pin_for(split: Split, rows: dict[int, int], validation_rows: int) -> Pin | None:
    """The row to pin when a drawn share left one side without rows.

    Args:
        split: The rule.
        rows: Rows of each partition.
        validation_rows: Rows that were drawn for validation.

    Returns:
        ``None`` when the draw may stand: both sides have rows, or the single row trains, or a column decides.
    """
    total = sum(rows.values())
    needs_validation = total >= 2 and validation_rows == 0
    if (
        not isinstance(split.validation, float)
        or total == 0
        or (validation_rows < total and not needs_validation)
    ):
        return None
    at = int(generator(split.seed, _PIN).integers(total))
    for partition in sorted(rows):
        if at < rows[partition]:
            return Pin(partition, at, validation=needs_validation)
        at -= rows[partition]
    raise AssertionError("the drawn row lies inside the total")


def take(columns: dict[str, npt.NDArray[Any]], mask: Mask) -> dict[str, npt.NDArray[Any]]:
    """The rows where the mask is true, without a copy when that is all of them."""
    if mask.all():
        return columns
    return {name: array[mask] for name, array in columns.items()}
