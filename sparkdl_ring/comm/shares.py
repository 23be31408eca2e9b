"""How the rows of an array are dealt out: pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sparkdl_ring.errors import ConfigError


def split(total: int, parts: int) -> list[int]:
    """``total`` rows in ``parts`` shares as even as can be, the larger ones first."""
    least, extra = divmod(total, parts)
    return [least + (part < extra) for part in range(parts)]


def rows_of(shape: Sequence[int], parts: int) -> list[int]:
    """Rows of each of ``parts`` shares of an array of this shape."""
    if not shape:
        raise ConfigError("reducescatter needs an axis to split; use allreduce for scalars")
    return split(shape[0], parts)


def deal(shape: Sequence[int], splits: Sequence[int] | None, parts: int) -> list[int]:
    """Rows for each of ``parts`` ranks: ``splits``, or the same number for each.

    Raises:
        ConfigError: There are no rows, or they cannot be dealt out like that.
    """
    if not shape:
        raise ConfigError("alltoall needs an axis to deal out; give an array of at least one axis")
    if splits is None:
        if shape[0] % parts:
            raise ConfigError(f"{shape[0]} rows are not the same number for {parts} ranks; give splits")
        return [shape[0] // parts] * parts
    rows = [int(n) for n in splits]
    if len(rows) != parts or min(rows) < 0 or sum(rows) != shape[0]:
        raise ConfigError(f"splits {rows} do not deal {shape[0]} rows out to {parts} ranks")
    return rows


def elements(rows: Sequence[int], rest: Sequence[int]) -> list[int]:
    """Elements of each share when a row has shape ``rest``."""
    return [n * prod(rest) for n in rows]


def open_shape(rest: Sequence[int]) -> str:
    """The shape as text with the first axis left open: ``(*, 3, 4)``."""
    return f"({', '.join(['*', *map(str, rest)])})"
