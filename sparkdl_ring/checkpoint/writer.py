"""Writes checkpoints: payload first, then the marker that makes it one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sparkdl_ring.checkpoint.api import Marker
from sparkdl_ring.checkpoint.naming import expired, marker_name, payload_name
from sparkdl_ring.errors import CheckpointError, ConfigError, StoreError
from sparkdl_ring.log import get_logger
from sparkdl_ring.store import Store, layout

_log = get_logger(__name__)


class CheckpointWriter:
    """Writes the checkpoints of one run; one writer a run (rank 0).

    Args:
        store: The store of the run.
        run_id: Name of the run.
        keep: Newest checkpoints to keep; two survive the loss of the newest one.
    """

    def __init__(self, store: Store, run_id: str, keep: int = 2) -> None:
        if keep < 1:
            raise ConfigError(f"keep={keep}: at least one checkpoint has to be kept")
        self._store = store
        self._folder = layout.checkpoints_dir(run_id)
        self._keep = keep

    def save(self, epoch: int, state: bytes, meta: Mapping[str, Any] | None = None) -> Marker:
        """Publishes a checkpoint and removes those that have had their time.

        Args:
            epoch: The epoch it was taken after, counted from 0; saving an epoch again replaces it.
            state: The payload.
            meta: JSON-ready notes.

        Raises:
            CheckpointError: The store refused; the cause tells why.
        """
        digest = hashlib.sha256(state).hexdigest()
        marker = Marker(epoch, payload_name(epoch, digest), len(state), digest, dict(meta or {}))
        try:
            self._store.write(f"{self._folder}/{marker.payload}", state)
            self._store.write(f"{self._folder}/{marker_name(epoch)}", json.dumps(asdict(marker)).encode())
        except StoreError as error:
            raise CheckpointError(f"the checkpoint of epoch {epoch} was not written: {error}") from error
        self._clean(marker)
        return marker

    def _clean(self, newest: Marker) -> None:
        try:
            for name in expired(self._store.list(self._folder), self._keep, newest.payload):
                self._store.delete(f"{self._folder}/{name}")
        except StoreError as error:
            _log.warning("old checkpoints in %s were not removed: %s", self._folder, error)
