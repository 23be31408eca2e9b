"""Columns of a dataset: names, numpy types, shapes, and how each is stored in Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkdl_ring.errors import SchemaError

Columns = dict[str, npt.NDArray[Any]]
"""Rows as one array a column; axis 0 counts rows and is equally long in all of them."""

Kind = Literal["scalar", "array", "vector"]

UNKNOWN: tuple[int, ...] = (-1,)
"""Shape of an array or vector column before its rows have been seen."""


@dataclass(frozen=True)
class ColumnSpec:
    """One column.

    Args:
        name: The user's name, any spelling.
        dtype: numpy name of an element: bool, int8, int16, int32, int64, float32 or float64.
        shape: Shape of one row: ``()`` for a scalar, ``(n,)`` for an array or vector.
        kind: What the column was in Spark; an ML vector is always float64.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    kind: Kind = "scalar"

    def sized(self, length: int) -> ColumnSpec:
        """The same column with its row length known."""
        return replace(self, shape=(length,))

    @property
    def row_bytes(self) -> int:
        """Bytes of one row in memory."""
        return np.dtype(self.dtype).itemsize * int(np.prod(self.shape, dtype=np.int64))

    @property
    def storage(self) -> pa.DataType:
        """The Arrow type in files: scalars as themselves, arrays as their little-endian bytes.

        Fixed-size bytes decode five times faster than Parquet lists, whose lengths would all be equal here.
        """
        if self.kind == "scalar":
            return pa.from_numpy_dtype(np.dtype(self.dtype))
        return pa.binary(self.row_bytes)

    def empty(self) -> npt.NDArray[Any]:
        """No rows of this column."""
        return np.empty((0, *self.shape), dtype=self.dtype)


def stored_name(index: int) -> str:
    """The name of a column inside the files; user names of any spelling live in the manifest only."""
    return f"c{index}"


def row_bytes(columns: Sequence[ColumnSpec]) -> int:
    """Bytes of one row over all columns, at least 1."""
    return max(1, sum(column.row_bytes for column in columns))


def select(columns: Sequence[ColumnSpec], names: Sequence[str]) -> dict[str, ColumnSpec]:
    """The wanted columns by their stored name, in the wanted order.

    Args:
        columns: All columns of a dataset.
        names: User names, matched literally.

    Raises:
        SchemaError: A name is not in the dataset, or nothing is wanted.
    """
    known = {column.name: index for index, column in enumerate(columns)}
    missing = [name for name in names if name not in known]
    if missing or not names:
        raise SchemaError(f"the dataset has no column(s) {missing}; it has {sorted(known)}")
    return {stored_name(known[name]): columns[known[name]] for name in dict.fromkeys(names)}
