"""What a checkpoint is: the state after one epoch, with proof that it is whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read and verified.

    Args:
        epoch: The epoch after which it was taken, counted from 0.
        state: The saved bytes.
        meta: What the writer noted beside them.
    """

    epoch: int
    state: bytes = field(repr=False)
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Marker:
    """The small JSON file that makes a payload a checkpoint; written last.

    Args:
        epoch: The epoch after which it was taken.
        payload: Name of the payload file beside the marker.
        size_bytes: Bytes of the payload.
        sha256: Its checksum, hexadecimal.
        meta: What the writer noted.
    """

    epoch: int
    payload: str
    size_bytes: int
    sha256: str
    meta: Mapping[str, Any] = field(default_factory=dict)
