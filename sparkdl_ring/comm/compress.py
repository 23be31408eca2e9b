"""Fewer bytes between hosts: float32 that travels as a 16-bit type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sparkdl_ring.comm.dtypes import DTYPES
from sparkdl_ring.errors import ConfigError

WIRE = {"fp16": DTYPES["float16"].code, "bf16": DTYPES["bfloat16"].code}


class Compression:
    """A way to compress with error feedback: what rounding lost is added to the values of the next call.

    Keep one object for as long as you reduce the same arrays, and give every array a ``name`` of its own.

    Args:
        kind: ``fp16`` or ``bf16``.
    """

    def __init__(self, kind: str) -> None:
        self.wire = wire_code(kind)
        self._lost: dict[str, npt.NDArray[np.float32]] = {}

    def residual(self, name: str, count: int) -> npt.NDArray[np.float32]:
        """What earlier calls of this name have lost, as ``count`` elements; zeros at first."""
        known = self._lost.get(name)
        if known is None or known.size != count:
            known = self._lost[name] = np.zeros(count, np.float32)
        return known

    def forget(self) -> None:
        """Starts anew, as after loading a checkpoint."""
        self._lost.clear()


def wire_code(kind: str) -> int:
    """The code of the type that travels; raises :class:`ConfigError` for unknown kinds."""
    try:
        return WIRE[kind]
    except KeyError:
        raise ConfigError(
            f"compress={kind!r} is unknown; known: {', '.join(WIRE)}, or a Compression"
        ) from None


def plan_of(compress: Any) -> tuple[int, Compression | None]:
    """The wire code (-1: as it is) and what keeps the rest of a ``compress`` argument."""
    if compress is None:
        return -1, None
    if isinstance(compress, Compression):
        return compress.wire, compress
    return wire_code(compress), None
