"""Names of checkpoint files, and which of them have had their time; pure functions.

A payload's name carries its own checksum, so that saving an epoch again never overwrites bytes that an
older marker still promises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MARKER = re.compile(r"epoch-(\d{8})\.json")
_PAYLOAD = re.compile(r"epoch-(\d{8})-[0-9a-f]{16}\.bin")


def marker_name(epoch: int) -> str:
    """File name of the marker of an epoch."""
    return f"epoch-{epoch:08d}.json"


def payload_name(epoch: int, sha256: str) -> str:
    """File name of a payload of an epoch."""
    return f"epoch-{epoch:08d}-{sha256[:16]}.bin"


def marked_epochs(names: Iterable[str]) -> list[int]:
    """Epochs that have a marker, newest first."""
    return sorted((int(m[1]) for m in map(_MARKER.fullmatch, names) if m), reverse=True)


def expired(names: Iterable[str], keep: int, in_use: str = "") -> list[str]:
    """Files to delete so that the ``keep`` newest checkpoints stay; markers come first.

    Args:
        names: All file names of the folder; foreign ones are left alone.
        keep: Checkpoints to keep, at least 1.
        in_use: Payload of the newest checkpoint: others of its epoch are left-overs.
    """
    names = sorted(names)
    kept = set(marked_epochs(names)[:keep])
    markers = [n for n in names if (m := _MARKER.fullmatch(n)) and int(m[1]) not in kept]
    payloads = [n for n in names if (m := _PAYLOAD.fullmatch(n)) and _is_over(n, int(m[1]), kept, in_use)]
    return markers + payloads


def _is_over(name: str, epoch: int, kept: set[int], in_use: str) -> bool:
    replaced = bool(in_use) and name != in_use and epoch == int(in_use[6:14])
    return epoch not in kept or replaced
