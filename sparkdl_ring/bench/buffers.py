"""Memory to reduce: filled with one value by its owner, checked as a whole."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from sparkdl_ring.bench.api import ITEM_BYTES, Cell
from sparkdl_ring.errors import RingError

Words = npt.NDArray[Any]


def private(num_bytes: int) -> Words:
    """Memory as an allocator gives it to a framework: private, page by page, no huge pages asked for."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    return np.frombuffer(mmap.mmap(-1, num_bytes, flags=flags), np.uint8)


def words_in(memory: Words, cell: Cell) -> Words:
    """The begin of ``memory`` as words as wide as can be, so that writing it costs little."""
    item = ITEM_BYTES[cell.dtype]
    data = memory[: cell.count * item]
    return data.view(f"u{8 if data.nbytes % 8 == 0 else item}")


def word(cell: Cell, value: float, width: int) -> int:
    """``value`` in the element type, repeated over ``width`` bytes."""
    item = ITEM_BYTES[cell.dtype]
    if cell.dtype == "bfloat16":
        bits = int(np.array(value, np.float32).view(np.uint32)) >> 16
    else:
        bits = int(np.array(value, cell.dtype).view(f"u{item}"))
    return int.from_bytes(bits.to_bytes(item, "little") * (width // item), "little")


def fill(words: Words, cell: Cell, value: float) -> None:
    """Writes ``value`` into every element."""
    words.fill(word(cell, value, words.itemsize))


def check(words: Words, cell: Cell, value: float, who: str) -> None:
    """Raises unless every element is ``value``.

    Raises:
        RingError: A result is wrong; a time of it would mean nothing.
    """
    wrong = int(np.count_nonzero(words != word(cell, value, words.itemsize)))
    if wrong:
        raise RingError(f"{who} gave {wrong} wrong words of {words.size} ({cell}): no time of it counts")
