"""The one table of element types and operations that cross to the native module."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparkdl_ring.errors import ConfigError


@dataclass(frozen=True)
class DType:
    """One element type.

    Args:
        name: NumPy's name; that of ml_dtypes and torch for what NumPy lacks.
        code: The native module's code.
        size_bytes: Bytes of one element.
        plain: NumPy type of the same size that views the memory where NumPy may lack the type itself.
        instead: What to do where a reduction is wanted; empty: it can be reduced, else it is only moved.
    """

    name: str
    code: int
    size_bytes: int
    plain: str = ""
    instead: str = ""

    @cached_property
    def typestr(self) -> str:
        """How NumPy's array interface calls the memory."""
        return np.dtype(self.plain or self.name).str

    @property
    def reducible(self) -> bool:
        """Whether elements can be added and compared."""
        return not self.instead


_AS_FLOAT = "cast to float16, bfloat16 or float32"


DTYPES = {
    dtype.name: dtype
    for dtype in (
        DType("uint8", 0, 1),
        DType("int32", 1, 4),
        DType("int64", 2, 8),
        DType("float16", 3, 2),
        DType("bfloat16", 4, 2, plain="uint16"),
        DType("float32", 5, 4),
        DType("float64", 6, 8),
        DType("bool", 7, 1, instead="cast to uint8 and use min (all), max (any) or sum"),
        DType("int8", 8, 1),
        DType("int16", 9, 2),
        DType("uint16", 10, 2),
        DType("uint32", 11, 4),
        DType("uint64", 12, 8),
        DType("float8_e4m3fn", 13, 1, plain="uint8", instead=_AS_FLOAT),
        DType("float8_e5m2", 14, 1, plain="uint8", instead=_AS_FLOAT),
    )
}
UINT8 = DTYPES["uint8"]
INT64 = DTYPES["int64"]

OPS = {"sum": 0, "mean": 1, "min": 2, "max": 3, "product": 4}


def dtype_named(name: str) -> DType:
    """The element type called ``name``; raises :class:`ConfigError` naming it and the ones there are."""
    try:
        return DTYPES[name]
    except KeyError:
        raise ConfigError(f"dtype {name} is not supported; supported: {', '.join(DTYPES)}") from None


def op_code(op: str, dtype: DType) -> int:
    """The code of operation ``op``; raises :class:`ConfigError` when it is unknown or ``dtype`` has none."""
    if op not in OPS:
        raise ConfigError(f"operation {op!r} is unknown; known: {', '.join(OPS)}")
    if not dtype.reducible:
        raise ConfigError(f"dtype {dtype.name} cannot be reduced, only moved: {dtype.instead}")
    return OPS[op]
