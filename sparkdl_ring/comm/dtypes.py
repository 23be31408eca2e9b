"""The one table of element types and operations that cross to the native module."""

from __future__ import annotations

from dataclasses import dataclass

from sparkdl_ring.errors import ConfigError


@dataclass(frozen=True)
class DType:
    """One element type.

    Args:
        name: NumPy's name, ``bfloat16`` included.
        code: The native module's code.
        size_bytes: Bytes of one element.
        reducible: Whether it can be added; bytes and booleans can only be moved.
    """

    name: str
    code: int
    size_bytes: int
    reducible: bool = True


DTYPES = {
    dtype.name: dtype
    for dtype in (
        DType("uint8", 0, 1, reducible=False),
        DType("int32", 1, 4),
        DType("int64", 2, 8),
        DType("float16", 3, 2),
        DType("bfloat16", 4, 2),
        DType("float32", 5, 4),
        DType("float64", 6, 8),
        DType("bool", 7, 1, reducible=False),
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
        able = ", ".join(d.name for d in DTYPES.values() if d.reducible)
        raise ConfigError(
            f"dtype {dtype.name} cannot be reduced (only broadcast and gathered); reducible: {able}"
        )
    return OPS[op]
