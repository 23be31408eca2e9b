"""Epoch figures on their way from rank 0 to the driver, as small files in the store.

Files work wherever the store does, also where tasks cannot reach the driver (Spark Connect, object stores).
One file an event, named by its number, so that writing an event again after a restart changes nothing.
"""

from __future__ import annotations

import json

from sparkdl_ring.job import EpochRecord
from sparkdl_ring.store import Store, layout

_SUFFIX = ".json"


def write_event(store: Store, run_id: str, seq: int, record: EpochRecord) -> None:
    """Publishes one event; called by rank 0.

    Args:
        store: The store of the run.
        run_id: Name of the run.
        seq: Number of the event, counted from 0; the same number replaces the event.
        record: Figures of the epoch.

    Raises:
        StoreError: The store cannot be written.
    """
    data = json.dumps(record.to_json()).encode()
    store.write(f"{layout.events_dir(run_id)}/{seq:08d}{_SUFFIX}", data)


def read_events(store: Store, run_id: str, after: int = -1) -> list[tuple[int, EpochRecord]]:
    """Events with a number above ``after``, in order; called by the driver again and again.

    Args:
        store: The store of the run.
        run_id: Name of the run.
        after: Number of the last event already seen; -1 for none.

    Raises:
        StoreError: The store cannot be read.
    """
    folder = layout.events_dir(run_id)
    fresh = sorted(seq for seq in map(_number, store.list(folder)) if seq > after)
    return [(seq, _read(store, f"{folder}/{seq:08d}{_SUFFIX}")) for seq in fresh]


def _number(name: str) -> int:
    stem = name.removesuffix(_SUFFIX)
    return int(stem) if name.endswith(_SUFFIX) and stem.isdigit() else -1


def _read(store: Store, path: str) -> EpochRecord:
    return EpochRecord.from_json(json.loads(store.read(path)))
