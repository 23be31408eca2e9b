"""How the rows of an array are dealt out: pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def split(total: int, parts: int) -> list[int]:
    """``total`` rows in ``parts`` shares as even as can be, the larger ones first."""
    least, extra = divmod(total, parts)
    return [least + (part < extra) for part in range(parts)]


def elements(rows: Sequence[int], rest: Sequence[int]) -> list[int]:
    """Elements of each share when a row has shape ``rest``."""
    return [n * prod(rest) for n in rows]


def open_shape(rest: Sequence[int]) -> str:
    """The shape as text with the first axis left open: ``(*, 3, 4)``."""
    return f"({', '.join(['*', *map(str, rest)])})"
