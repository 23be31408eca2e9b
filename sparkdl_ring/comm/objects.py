"""Python objects as bytes, for collectives among ranks that have proven to belong to the run."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import cloudpickle
import numpy as np

from sparkdl_ring.comm.buffers import Array


def encode(value: Any) -> Array:
    """``value`` as an array of bytes; lambdas and local classes are allowed."""
    return np.frombuffer(cloudpickle.dumps(value), np.uint8)


def decode(data: Array) -> Any:
    """The inverse of :func:`encode`."""
    return pickle.loads(data.tobytes())


def decode_all(data: Array, lengths: Sequence[int]) -> list[Any]:
    """The objects of all ranks from their bytes, one behind the other."""
    ends = np.cumsum(lengths)
    return [decode(data[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
