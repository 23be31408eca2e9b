"""One suite over both sources: the same rows in the same order, which pure functions tell beforehand."""

from __future__ import annotations

import gc
import threading
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data import ColumnSpec, Dataset, ReadOptions, global_batches, num_steps, open_batches
from sparkdl_ring.data.publish import publish
from sparkdl_ring.data.schema import UNKNOWN, Columns
from sparkdl_ring.data.task import WriteTask
from sparkdl_ring.errors import DataError, SchemaError, ShortReadError, StoreError
from sparkdl_ring.store import Store, open_store

DTYPES = ["bool", "int8", "int16", "int32", "int64", "float32", "float64"]
SPECS = (
    ColumnSpec("id", "int64"),
    *(ColumnSpec(f"s {d}", d) for d in DTYPES),
    *(ColumnSpec(f"a.{d}", d, UNKNOWN, "array") for d in DTYPES),
)
KINDS = {
    "arrow": ("arrow", 2),
    "in process": ("petastorm", 0),
    "1 thread": ("petastorm", 1),
    "4": ("petastorm", 4),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> tuple[str, int]:
    return KINDS[request.param]


def _values(ids: np.ndarray, spec: ColumnSpec) -> np.ndarray:
    """A value that tells its row and column."""
    if spec.name == "id":
        return ids
    row = ids % 2 if spec.dtype == "bool" else ids % 100
    wide = (
        np.stack([row, row ^ 1 if spec.dtype == "bool" else row + 7], axis=1) if spec.kind == "array" else row
    )
    return wide.astype(spec.dtype)


def _batch(ids: np.ndarray, specs) -> pa.RecordBatch:
    arrays = []
    for spec in specs:
        values, element = _values(ids, spec), pa.from_numpy_dtype(np.dtype(spec.dtype))
        arrays.append(pa.array(list(values), pa.list_(element)) if spec.kind == "array" else pa.array(values))
    return pa.RecordBatch.from_arrays(arrays, [f"w{i}" for i in range(len(arrays))])


def write(store: Store, files: list[int], group_rows: int, specs=SPECS) -> Dataset:
    """A dataset whose rows have the ids 0, 1, 2, ... in file order."""
    task = WriteTask(store, uuid.uuid4().hex, specs, config=DataConfig(row_group_rows=group_rows))
    ends = np.cumsum(files)
    ids = [np.arange(end - rows, end) for rows, end in zip(files, ends, strict=True)]
    return publish(task, [task.write(i, iter([_batch(part, specs)])) for i, part in enumerate(ids)]).train


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return open_store(str(tmp_path_factory.mktemp("source #1 50%")))


@pytest.fixture(scope="module")
def dataset(store: Store) -> Dataset:
    return write(store, [0, 37, 1, 0, 62, 100], 16)


def read(store: Store, data: Dataset, options: ReadOptions, size: int = 1, **config) -> list[list[Columns]]:
    out = []
    for rank in range(size):
        with open_batches(store, data, options, world=(rank, size), config=DataConfig(**config)) as batches:
            out.append([batch.columns for batch in batches])
            assert len(out[-1]) == batches.num_batches == len(batches)
            assert sum(len(next(iter(columns.values()))) for columns in out[-1]) == batches.rows
    return out


@pytest.mark.parametrize("shuffle", [False, True])
def test_every_column_keeps_type_shape_and_row(store, dataset, kind, shuffle) -> None:
    names = tuple(spec.name for spec in SPECS)
    options = ReadOptions(names, 32, seed=3, shuffle=shuffle, source=kind[0])
    for columns in read(store, dataset, options, reader_threads=kind[1])[0]:
        assert tuple(columns) == names
        for spec in dataset.columns:
            values = columns[spec.name]
            assert values.dtype == spec.dtype
            assert values.shape == (len(columns["id"]), *spec.shape)
            assert values.flags.writeable
            assert values.flags.c_contiguous
            assert np.array_equal(values, _values(columns["id"], spec))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_are_those_that_were_told(store, dataset, kind, size, shuffle) -> None:
    config = {"reader_threads": kind[1], "shuffle_rows": 30}
    options = ReadOptions(("id",), 8, seed=11, epoch=2, shuffle=shuffle, spread_tail=True, source=kind[0])
    told = global_batches(dataset, size, options, DataConfig(**config))
    seen = read(store, dataset, options, size, **config)
    assert len(told) == num_steps(dataset.rows, size, 8, spread_tail=True)
    for rank, batches in enumerate(seen):
        expected = [step[rank].tolist() for step in told if len(step[rank])]
        assert [columns["id"].tolist() for columns in batches] == expected
    assert sorted(i for batches in seen for columns in batches for i in columns["id"]) == list(
        range(dataset.rows)
    )


def test_without_shuffle_rows_come_as_pyarrow_reads_them(store, dataset, kind) -> None:
    options = ReadOptions(("id", "s float64"), 64, shuffle=False, source=kind[0])
    batches = read(store, dataset, options, reader_threads=kind[1])[0]
    tables = [pq.read_table(pa.OSFile(store.local_path(file.path))) for file in dataset.files]
    table = pa.concat_tables(tables)
    assert np.array_equal(np.concatenate([c["id"] for c in batches]), table["c0"].to_numpy())
    assert np.array_equal(np.concatenate([c["s float64"] for c in batches]), table["c7"].to_numpy())


def test_a_seed_fixes_the_order_and_epochs_differ(store, dataset, kind) -> None:
    def ids(seed: int, epoch: int) -> list[int]:
        options = ReadOptions(("id",), 16, seed=seed, epoch=epoch, source=kind[0])
        return [
            int(i)
            for columns in read(store, dataset, options, reader_threads=kind[1])[0]
            for i in columns["id"]
        ]

    orders = {(seed, epoch): ids(seed, epoch) for seed in (7, 8) for epoch in (0, 1)}
    assert all(ids(*place) == order for place, order in orders.items())
    assert len({tuple(order) for order in orders.values()}) == 4
    assert all(sorted(order) == list(range(dataset.rows)) for order in orders.values())


def test_the_order_does_not_depend_on_the_wanted_columns(store, dataset, kind) -> None:
    def ids(*columns: str) -> list[int]:
        options = ReadOptions(columns, 16, source=kind[0])
        got = read(store, dataset, options, reader_threads=kind[1], shuffle_bytes=100 * dataset.row_bytes)[0]
        return [int(i) for columns_ in got for i in columns_["id"]]

    assert ids("id") == ids("a.float64", "id", "s bool")


def test_ranks_without_rows_have_no_batches(store, kind) -> None:
    data = write(store, [2], 10, SPECS[:1])
    seen = read(store, data, ReadOptions(("id",), 4, source=kind[0]), 5, reader_threads=kind[1])
    assert [len(batches) for batches in seen] == [1, 1, 0, 0, 0]


def test_an_epoch_never_bleeds_into_the_next(store, kind) -> None:
    data = write(store, [8], 3, SPECS[:1])
    for epoch in range(3):
        options = ReadOptions(("id",), 4, epoch=epoch, source=kind[0])
        batches = read(store, data, options, reader_threads=kind[1], shuffle_rows=8)[0]
        assert sorted(int(i) for columns in batches for i in columns["id"]) == list(range(8))


def test_reading_from_memory(kind) -> None:
    memory = open_store(f"memory://{uuid.uuid4().hex}")
    data = write(memory, [20, 5], 6, SPECS[:2])
    options = ReadOptions(("id",), 7, shuffle=False, source=kind[0])
    batches = read(memory, data, options, 2, reader_threads=kind[1])
    assert [int(i) for rank in batches for columns in rank for i in columns["id"]] == list(range(25))


def test_leaving_in_the_middle_or_never_starting_leaves_nothing(store, dataset, kind) -> None:
    before = threading.active_count()
    options = ReadOptions(("id",), 4, source=kind[0])
    config = DataConfig(reader_threads=kind[1])
    with open_batches(store, dataset, options, config=config) as batches:
        next(batches)
    assert list(batches) == []
    open_batches(store, dataset, options, config=config).close()
    forgotten = open_batches(store, dataset, options, config=config)
    next(forgotten)
    del forgotten
    gc.collect()
    assert threading.active_count() == before


def test_a_file_with_other_rows_is_told(store, kind) -> None:
    data = write(store, [40], 10, SPECS[:1])
    path = data.files[0].path
    with store.open_output(path) as file:
        pq.write_table(pa.table({"c0": list(range(35))}), file, row_group_size=10)
    options = ReadOptions(("id",), 4, source=kind[0])
    with pytest.raises(ShortReadError, match="row group 3: expected 10 rows, got 5") as caught:
        read(store, data, options, reader_threads=kind[1])
    assert path in str(caught.value)
    with store.open_output(path) as file:
        pq.write_table(pa.table({"c0": list(range(30))}), file, row_group_size=10)
    with pytest.raises(ShortReadError, match="row group 3: expected 10 rows, got 0"):
        read(store, data, options, reader_threads=kind[1])


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ({"c0": pa.array([1, 2], pa.int32())}, "of type int32, not int64"),
        ({"x": pa.array([1, 2])}, "missing"),
        ({"c0": pa.array([1, None])}, "has 1 nulls"),
    ],
)
def test_a_file_of_another_kind_is_told(store, kind, table, what) -> None:
    data = write(store, [2], 10, SPECS[:1])
    with store.open_output(data.files[0].path) as file:
        pq.write_table(pa.table(table), file)
    with pytest.raises(SchemaError, match=what):
        read(store, data, ReadOptions(("id",), 4, source=kind[0]), reader_threads=kind[1])


def test_a_file_that_is_gone_or_damaged_is_told(store, kind) -> None:
    data = write(store, [50], 10, SPECS[:1])
    options = ReadOptions(("id",), 4, source=kind[0])
    path = data.files[0].path
    whole = store.read(path)
    store.delete(path)
    with pytest.raises(StoreError, match="does not exist"):
        read(store, data, options, reader_threads=kind[1])
    store.write(path, whole[:-20])
    with pytest.raises(DataError, match=Path(path).name):
        read(store, data, options, reader_threads=kind[1])


def test_unknown_columns_are_refused_at_once(store, dataset, kind) -> None:
    with pytest.raises(SchemaError, match=r"no column\(s\) \['zzz', 's.int8'\]"):
        open_batches(store, dataset, ReadOptions(("id", "zzz", "s.int8"), 4, source=kind[0]))


@pytest.fixture(scope="module")
def tiny_files() -> tuple[Store, Dataset]:
    memory = open_store(f"memory://{uuid.uuid4().hex}")
    return memory, write(memory, [5] * 2000, 5, SPECS[:1])


def test_two_thousand_tiny_files(tiny_files, kind) -> None:
    memory, data = tiny_files
    batches = read(memory, data, ReadOptions(("id",), 256, source=kind[0]), 2, reader_threads=kind[1])
    assert sorted(int(i) for rank in batches for columns in rank for i in columns["id"]) == list(
        range(10_000)
    )


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.lists(st.integers(0, 25), min_size=1, max_size=5).filter(any),
    group=st.integers(1, 9),
    size=st.integers(1, 4),
    batch=st.integers(1, 9),
    pool=st.integers(1, 40),
    threads=st.integers(0, 3),
    seed=st.integers(0, 99),
    spread=st.booleans(),
)
def test_any_layout_gives_every_row_once_as_told(
    store, files, group, size, batch, pool, threads, seed, spread
) -> None:
    data = write(store, files, group, SPECS[:1])
    config = {"shuffle_rows": pool, "reader_threads": threads}
    options = {
        s: ReadOptions(("id",), batch, seed, seed % 3, True, spread, s) for s in ("petastorm", "arrow")
    }
    told = global_batches(data, size, options["arrow"], DataConfig(**config))
    assert sorted(int(i) for step in told for rank in step for i in rank) == list(range(data.rows))
    for wanted in options.values():
        seen = read(store, data, wanted, size, **config)
        for rank in range(size):
            expected = [step[rank].tolist() for step in told if len(step[rank])]
            assert [columns["id"].tolist() for columns in seen[rank]] == expected
