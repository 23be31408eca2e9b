"""Arrow columns as Spark sends them -> numpy arrays of one shape a row, whole columns at a time.

Lists and vectors are measured first: a column whose rows differ in length is a fault that the driver
reports, never something to pad or cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sparkdl_ring.data.schema import ColumnSpec, Kind

_SPARSE = 0
"""Value of the ``type`` field of Spark's vectors: 0 sparse, 1 dense."""


@dataclass
class Measure:
    """What is known about one column so far.

    Args:
        nulls: Rows without a value.
        null_elements: Elements without a value inside arrays.
        shortest: Least row length seen, ``None`` before the first row.
        longest: Greatest row length seen.
    """

    nulls: int = 0
    null_elements: int = 0
    shortest: int | None = None
    longest: int | None = None

    def merge(self, other: Measure) -> None:
        """Adds what another part of the column showed."""
        self.nulls += other.nulls
        self.null_elements += other.null_elements
        seen = [n for n in (self.shortest, self.longest, other.shortest, other.longest) if n is not None]
        self.shortest, self.longest = (min(seen), max(seen)) if seen else (None, None)

    @property
    def clean(self) -> bool:
        """Whether all rows so far can be stored."""
        return not self.nulls and not self.null_elements and self.shortest == self.longest != 0


def measure(array: pa.Array, kind: Kind) -> Measure:
    """Counts nulls and finds row lengths."""
    if kind == "scalar":
        return Measure(nulls=array.null_count)
    values = array.field("values") if kind == "vector" else array
    lengths = _vector_sizes(array) if kind == "vector" else pc.list_value_length(array)
    span = pc.min_max(lengths.drop_null())
    inner = values.flatten()
    return Measure(array.null_count, inner.null_count, span["min"].as_py(), span["max"].as_py())


def to_numpy(array: pa.Array, spec: ColumnSpec) -> npt.NDArray[Any]:
    """The rows of a column that :func:`measure` found clean, one array of shape (rows, ...)."""
    if spec.kind == "vector":
        return _dense(array, spec.shape[0])
    flat = array.flatten() if spec.kind == "array" else array
    return _values(flat).astype(spec.dtype, copy=False).reshape(len(array), *spec.shape)


def _values(array: pa.Array) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def _vector_sizes(array: pa.StructArray) -> pa.Array:
    """Length of each vector: sparse ones say it, dense ones have it."""
    sparse = pc.equal(array.field("type"), _SPARSE)
    sizes = pc.if_else(sparse, array.field("size"), pc.list_value_length(array.field("values")))
    return pc.if_else(array.is_valid(), sizes, pa.scalar(None, sizes.type))


def _dense(array: pa.StructArray, size: int) -> npt.NDArray[np.float64]:
    """Dense and sparse vectors -> (rows, size) float64, without a step a row."""
    values = array.field("values")
    counts = _values(pc.list_value_length(values)).astype(np.int64)
    flat = _values(values.flatten()).astype(np.float64, copy=False)
    sparse = _values(array.field("type")) == _SPARSE
    if not sparse.any():
        return flat.reshape(len(array), size)
    row_of = np.repeat(np.arange(len(array)), counts)  # V: one entry a stored value
    starts = np.cumsum(counts) - counts
    column_of = np.arange(len(flat)) - starts[row_of]
    indices = array.field("indices").filter(pa.array(sparse))
    column_of[sparse[row_of]] = _values(indices.flatten())
    out = np.zeros((len(array), size), dtype=np.float64)
    out[row_of, column_of] = flat
    return out
