"""Each epoch is passed on once, in order, to log, record and callback."""

from __future__ import annotations

from sparkdl_ring.job import EpochRecord
from sparkdl_ring.ml.progress import Progress, told
from sparkdl_ring.store import open_store
from sparkdl_ring.tracking import NullTracker, write_event


class _Tracker(NullTracker):
    def __init__(self) -> None:
        self.epochs: list[int] = []

    def log_epoch(self, record: EpochRecord) -> None:
        self.epochs.append(record.epoch)


def _record(epoch: int) -> EpochRecord:
    return EpochRecord(epoch, {"loss": 0.5}, 1000, 2.0)


def test_epochs_are_passed_on_once(tmp_path) -> None:
    store, tracker, seen = open_store(str(tmp_path)), _Tracker(), []
    progress = Progress(store, "r", tracker, lambda record: seen.append(record.epoch))
    progress.poll()
    for epoch in (0, 1):
        write_event(store, "r", epoch, _record(epoch))
    progress.poll()
    progress.poll()
    write_event(store, "r", 2, _record(2))
    progress.poll()
    assert tracker.epochs == seen == [0, 1, 2]


def test_the_line_for_people() -> None:
    assert told(_record(0)) == "epoch 1  loss 0.5000  1000 rows in 2.0 s (500 rows/s)"
