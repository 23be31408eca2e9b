"""Epoch figures from the store to the log, the record and the user's callback while tasks run."""

from __future__ import annotations

from collections.abc import Callable

from sparkdl_ring.job import EpochRecord
from sparkdl_ring.log import get_logger
from sparkdl_ring.store import Store
from sparkdl_ring.tracking import Tracker, read_events

OnEpoch = Callable[[EpochRecord], None]

_log = get_logger(__name__)


class Progress:
    """Passes each epoch on once, in order.

    Args:
        store: Where rank 0 writes events.
        run_id: Name of the run in the store.
        tracker: The record.
        on_epoch: The user's callback; what it raises ends the fit.
    """

    def __init__(self, store: Store, run_id: str, tracker: Tracker, on_epoch: OnEpoch | None = None) -> None:
        self._store = store
        self._run_id = run_id
        self._tracker = tracker
        self._on_epoch = on_epoch
        self._last = -1

    def poll(self) -> None:
        """Passes on what is new."""
        for seq, record in read_events(self._store, self._run_id, self._last):
            self._last = seq
            _log.info("%s", told(record))
            self._tracker.log_epoch(record)
            if self._on_epoch is not None:
                self._on_epoch(record)


def told(record: EpochRecord) -> str:
    """One line for people: epoch (counted from 1), figures, speed."""
    figures = "  ".join(f"{name} {value:.4f}" for name, value in record.metrics.items())
    speed = record.rows / max(record.seconds, 1e-9)
    took = f"{record.rows} rows in {record.seconds:.1f} s ({speed:,.0f} rows/s)"
    return f"epoch {record.epoch + 1}  {figures}  {took}"
