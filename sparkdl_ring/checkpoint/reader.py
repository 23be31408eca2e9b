"""Finds and verifies checkpoints."""

from __future__ import annotations

import hashlib
import json

from sparkdl_ring.checkpoint.api import Checkpoint, Marker
from sparkdl_ring.checkpoint.naming import marked_epochs, marker_name
from sparkdl_ring.errors import CheckpointCorruptError, StoreError
from sparkdl_ring.log import get_logger
from sparkdl_ring.store import Store, layout

_log = get_logger(__name__)


def latest(store: Store, run_id: str) -> Checkpoint | None:
    """The newest checkpoint whose bytes match their checksum.

    A payload without marker is an interrupted write and does not count. A corrupt checkpoint is warned
    about and the one before it is taken.

    Returns:
        ``None`` when the run has no checkpoint.

    Raises:
        CheckpointCorruptError: There are checkpoints and none is whole.
        StoreError: The store cannot be listed.
    """
    epochs = marked_epochs(store.list(layout.checkpoints_dir(run_id)))
    for epoch in epochs:
        try:
            return read(store, run_id, epoch)
        except CheckpointCorruptError as error:
            _log.warning("%s; trying the one before it", error)
    if epochs:
        raise CheckpointCorruptError(
            f"run {run_id}: none of the checkpoints of epochs {epochs} is whole; "
            f"delete {store.url}/{layout.checkpoints_dir(run_id)} or pass resume=False to start again"
        )
    return None


def read(store: Store, run_id: str, epoch: int) -> Checkpoint:
    """The checkpoint of one epoch.

    Raises:
        CheckpointCorruptError: Marker or payload are missing or damaged.
    """
    folder = layout.checkpoints_dir(run_id)
    try:
        marker = _marker(store.read(f"{folder}/{marker_name(epoch)}"))
        state = store.read(f"{folder}/{marker.payload}")
    except (StoreError, ValueError, TypeError) as error:
        raise CheckpointCorruptError(f"checkpoint of epoch {epoch} of run {run_id}: {error}") from error
    if len(state) != marker.size_bytes or hashlib.sha256(state).hexdigest() != marker.sha256:
        raise CheckpointCorruptError(
            f"checkpoint of epoch {epoch} of run {run_id}: {len(state)} bytes do not match "
            f"the {marker.size_bytes} bytes and checksum of its marker"
        )
    return Checkpoint(marker.epoch, state, marker.meta)


def _marker(data: bytes) -> Marker:
    fields = json.loads(data)
    if not isinstance(fields, dict):
        raise ValueError("the marker is not a JSON object")
    return Marker(**fields)
