"""What a model gives for one row, and the Spark column it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkdl_ring.errors import ConfigError

Array = npt.NDArray[Any]

_SCALARS = {
    "b": ("boolean", np.bool_),
    "i": ("bigint", np.int64),
    "u": ("bigint", np.int64),
    "f": ("double", np.float64),
}
_ITEMS = {**_SCALARS, "f": ("float", np.float32)}


@dataclass(frozen=True)
class OutputSpec:
    """One output of a model.

    Args:
        dtype: Numpy name of an element.
        shape: Shape of one row: ``()`` for a number, ``(n,)`` for n of them.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def sql_type(self) -> str:
        """A number becomes a double (what Spark's evaluators take), several become an array as they are."""
        return f"array<{self._stored[0]}>" if self.shape else self._stored[0]

    def to_arrow(self, rows: Array) -> pa.Array:
        """Rows as an Arrow array of :attr:`sql_type`; NaN stays NaN.

        Args:
            rows: Rows first.

        Raises:
            ConfigError: They have another shape than the spec says.
        """
        found = per_row(rows)
        if found.shape[1:] != self.shape:
            raise ConfigError(
                f"the model gave rows of shape {found.shape[1:]}, but {self.shape} when it was fit"
            )
        values = pa.array(np.ascontiguousarray(found).reshape(-1).astype(self._stored[1], copy=False))
        if not self.shape:
            return values
        offsets = np.arange(len(found) + 1, dtype=np.int32) * self.shape[0]
        return pa.ListArray.from_arrays(pa.array(offsets), values)

    def empty(self) -> Array:
        """No rows."""
        return np.empty((0, *self.shape), dtype=self.dtype)

    @property
    def _stored(self) -> tuple[str, Any]:
        kind = np.dtype(self.dtype).kind
        if self.shape and self.dtype != "float64":
            return _ITEMS[kind]
        return _SCALARS[kind]


def per_row(rows: Array) -> Array:
    """One column of a 2-D output is a number for each row."""
    return rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows


def describe(outputs: Sequence[Array], names: Sequence[str], num_rows: int) -> tuple[OutputSpec, ...]:
    """The specs of what a model gave.

    Args:
        outputs: One array an output.
        names: Prediction columns, one for each output.
        num_rows: Rows that were put in.

    Raises:
        ConfigError: Their number, rows, shapes or types cannot become columns.
    """
    if len(outputs) != len(names):
        raise ConfigError(
            f"the model gives {len(outputs)} output(s) for prediction column(s) {list(names)}: "
            "name one for each"
        )
    return tuple(_describe(out, name, num_rows) for out, name in zip(outputs, names, strict=True))


def _describe(output: Array, name: str, num_rows: int) -> OutputSpec:
    if output.ndim == 0 or output.shape[0] != num_rows:
        raise ConfigError(
            f"{name}: the model gave shape {output.shape} for {num_rows} rows: rows must come first"
        )
    row = per_row(output)
    if row.ndim > 2 or row.dtype.kind not in _SCALARS:
        raise ConfigError(
            f"{name}: rows of shape {row.shape[1:]} and dtype {row.dtype} do not fit a column: "
            "give output_transform a function that makes a number or a flat vector of each row"
        )
    return OutputSpec(str(row.dtype), row.shape[1:])
