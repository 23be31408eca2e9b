"""Row groups are exact, values come back, and a partition that cannot be stored is only measured."""

from __future__ import annotations

import errno
import os
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data import ColumnSpec, Split
from sparkdl_ring.data.publish import check, publish
from sparkdl_ring.data.schema import UNKNOWN
from sparkdl_ring.data.task import WriteTask
from sparkdl_ring.errors import EmptyDataError, SchemaError, StoreError
from sparkdl_ring.store import Store, open_store

ID = ColumnSpec("id", "int64")
LIST = ColumnSpec("x", "float32", UNKNOWN, "array")


@pytest.fixture
def store(tmp_path) -> Store:
    return open_store(str(tmp_path / "a #1"))


def _batches(rows: int, length: int = 3, step: int = 7):
    for start in range(0, rows, step):
        ids = range(start, min(rows, start + step))
        lists = [[i + k / 8 for k in range(length)] for i in ids]
        yield pa.RecordBatch.from_arrays(
            [pa.array(ids), pa.array(lists, pa.list_(pa.float32()))], ["w0", "w1"]
        )


def _task(store: Store, **options) -> WriteTask:
    return WriteTask(store, "d", (ID, LIST), **options)


@pytest.mark.parametrize(
    ("rows", "group", "expected"), [(20, 6, [6, 6, 6, 2]), (6, 6, [6]), (3, 100, [3]), (2, 1, [1, 1])]
)
def test_row_groups_have_exactly_the_wanted_rows(
    store: Store, rows: int, group: int, expected: list[int]
) -> None:
    task = _task(store, config=DataConfig(row_group_rows=group))
    report = task.write(5, _batches(rows))
    assert [count for count, _ in report.train.row_groups] == expected
    assert [size for _, size in report.train.row_groups] == [count * 20 for count in expected]
    with store.open_input(report.train.path) as file:
        parquet = pq.ParquetFile(file)
        found = [parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups)]
        assert parquet.read()["c0"].to_pylist() == list(range(rows))
    assert found == expected
    assert report.validation is None


def test_row_groups_are_bounded_in_bytes(store: Store) -> None:
    report = _task(store, config=DataConfig(row_group_bytes=100)).write(0, _batches(20))
    assert max(size for _, size in report.train.row_groups) == 100
    one = WriteTask(store, "e", (ID, LIST), config=DataConfig(row_group_bytes=1)).write(0, _batches(3))
    assert [count for count, _ in one.train.row_groups] == [1, 1, 1]


def test_an_empty_partition_writes_no_file(store: Store) -> None:
    empty = next(_batches(1)).slice(0, 0)
    for batches in ([], [empty], [empty, *_batches(2), empty]):
        report = _task(store).write(0, iter(batches))
        assert report.rows == (2 if len(batches) == 3 else 0)
    assert len(store.list()) == 1


def test_attempts_of_one_partition_never_share_a_name(store: Store) -> None:
    paths = {_task(store).write(0, _batches(2)).train.path for _ in range(5)}
    assert len(paths) == 5


def test_equal_values_have_equal_digests(store: Store) -> None:
    first, second = (_task(store).write(0, _batches(9, step=step)).train for step in (2, 5))
    assert first.digest == second.digest
    assert first.digest != _task(store).write(0, _batches(8)).train.digest


def test_a_split_writes_two_files_that_hold_every_row_once(store: Store) -> None:
    task = _task(store, split=Split(0.4, 5))
    report = task.write(0, _batches(100))
    seen = []
    for file in (report.train, report.validation):
        with store.open_input(file.path) as opened:
            ids = pq.read_table(opened)["c0"].to_pylist()
        assert ids == sorted(ids)
        assert len(ids) == file.rows
        seen += ids
    assert sorted(seen) == list(range(100))


def test_what_cannot_be_stored_is_measured_to_the_end(store: Store) -> None:
    batches = [*_batches(14), *_batches(7, length=5), *_batches(7, length=2)]
    report = _task(store).write(0, iter(batches))
    assert report.rows == 28
    assert (report.measures[1].shortest, report.measures[1].longest) == (2, 5)
    with pytest.raises(SchemaError, match="from 2 to 5"):
        check(_task(store), [report])


def test_sizes_that_differ_between_partitions_only_are_refused(store: Store) -> None:
    task = _task(store)
    reports = [task.write(0, _batches(3, length=3)), task.write(1, _batches(3, length=4))]
    with pytest.raises(SchemaError, match="from 3 to 4"):
        check(task, reports)
    task.discard()
    assert store.list() == []


def test_publishing_removes_files_of_attempts_that_do_not_count(store: Store) -> None:
    task = _task(store)
    task.write(0, _batches(4))
    reports = [task.write(0, _batches(4)), task.write(1, _batches(0)), task.write(2, _batches(2))]
    done = publish(task, reports)
    assert done.validation is None
    assert done.train.rows == 6
    assert done.train.columns == (ID, LIST.sized(3))
    assert len(store.list("datasets/d")) == 3


def test_no_rows_to_train_on_are_refused(store: Store) -> None:
    task = _task(store)
    with pytest.raises(EmptyDataError, match="the DataFrame has no rows"):
        publish(task, [task.write(0, _batches(0))])


def test_a_full_store_is_reported_and_leaves_no_file(store: Store, monkeypatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    report = _task(store).write(3, _batches(20))
    with pytest.raises(StoreError, match=r"partition 3: .*no space is left"):
        check(_task(store), [report])
    assert store.list() == []


def test_a_failing_input_leaves_no_file(store: Store) -> None:
    def broken():
        yield from _batches(20)
        raise RuntimeError("the user's own")

    with pytest.raises(RuntimeError, match="the user's own"):
        _task(store, config=DataConfig(row_group_rows=1)).write(0, broken())
    assert store.list() == []


def test_wide_sparse_vectors_are_densified_group_by_group(store: Store) -> None:
    size, rows = 100_000, 50
    kind = pa.struct(
        [
            ("type", pa.int8()),
            ("size", pa.int32()),
            ("indices", pa.list_(pa.int32())),
            ("values", pa.list_(pa.float64())),
        ]
    )
    vectors = [{"type": 0, "size": size, "indices": [i], "values": [1.0 + i]} for i in range(rows)]
    batch = pa.RecordBatch.from_arrays([pa.array(vectors, kind)], ["w0"])
    task = WriteTask(
        store,
        "s",
        (ColumnSpec("v", "float64", UNKNOWN, "vector"),),
        config=DataConfig(row_group_bytes=4 << 20),
    )
    report = task.write(0, iter([batch]))
    assert {count for count, _ in report.train.row_groups} == {5}
    assert store.size(report.train.path) < 2 << 20
    with store.open_input(report.train.path) as file:
        last = pq.ParquetFile(file).read_row_group(9)["c0"].to_pylist()[-1]
    assert np.frombuffer(last)[rows - 1] == rows


def test_a_task_pickles(store: Store) -> None:
    task = _task(store, split=Split(0.5))
    assert pickle.loads(pickle.dumps(task)) == task
