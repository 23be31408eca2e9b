"""Events from rank 0 to the driver through the store."""

from __future__ import annotations

import math

from sparkdl_ring.job import EpochRecord
from sparkdl_ring.store import layout, open_store
from sparkdl_ring.tracking import read_events, run_tags, transport_tags, write_event


def _record(epoch: int, loss: float = 0.5) -> EpochRecord:
    return EpochRecord(epoch, {"loss": loss}, rows=7, seconds=0.25)


def test_events_come_once_and_in_order(tmp_path):
    store = open_store(str(tmp_path))
    assert read_events(store, "r") == []
    for seq in (1, 0, 11):
        write_event(store, "r", seq, _record(seq))
    first = read_events(store, "r")
    assert [seq for seq, _ in first] == [0, 1, 11]
    assert first[2][1] == _record(11)
    assert read_events(store, "r", after=11) == []
    write_event(store, "r", 12, _record(12))
    assert [seq for seq, _ in read_events(store, "r", after=11)] == [12]


def test_writing_an_event_again_changes_nothing(tmp_path):
    store = open_store(str(tmp_path))
    write_event(store, "r", 0, _record(0))
    write_event(store, "r", 0, _record(0))
    assert len(read_events(store, "r")) == 1


def test_figures_that_are_not_finite_arrive_as_they_are(tmp_path):
    store = open_store(str(tmp_path))
    write_event(store, "r", 0, _record(0, math.inf))
    write_event(store, "r", 1, _record(1, math.nan))
    (_, first), (_, second) = read_events(store, "r")
    assert first.metrics["loss"] == math.inf
    assert math.isnan(second.metrics["loss"])


def test_foreign_files_are_passed_over(tmp_path):
    store = open_store(str(tmp_path))
    store.write(f"{layout.events_dir('r')}/readme.txt", b"x")
    store.write(f"{layout.events_dir('r')}/x.json", b"{}")
    assert read_events(store, "r") == []


def test_tags_name_versions_size_launcher_and_transport():
    tags = run_tags(size=3, launcher="spark")
    assert tags["sparkdl_ring.size"] == "3"
    assert tags["sparkdl_ring.launcher"] == "spark"
    assert {"sparkdl_ring.version", "sparkdl_ring.python", "sparkdl_ring.numpy"} <= tags.keys()
    assert transport_tags({1: "tcp", 2: "shm", 3: "shm"}) == {"sparkdl_ring.transport": "shm,tcp"}
    assert transport_tags({}) == {"sparkdl_ring.transport": "none"}
