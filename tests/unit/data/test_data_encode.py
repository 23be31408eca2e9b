"""Lists and vectors become arrays of one shape a row; what cannot is measured, never padded."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkdl_ring.data import ColumnSpec
from sparkdl_ring.data.encode import Measure, measure, to_numpy

VECTOR = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)


def _sparse(row: list[float]) -> dict[str, object]:
    kept = [i for i, value in enumerate(row) if value]
    return {"type": 0, "size": len(row), "indices": kept, "values": [row[i] for i in kept]}


def _stored(row: list[float], sparse: bool) -> dict[str, object]:
    return _sparse(row) if sparse else {"type": 1, "size": None, "indices": None, "values": row}


numbers = st.floats(-1e300, 1e300)


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.tuples(st.lists(numbers, min_size=n, max_size=n), st.booleans()), min_size=1)
    ),
    st.data(),
)
def test_vectors_dense_and_sparse_become_rows(rows, data) -> None:
    size = len(rows[0][0])
    array = pa.array([_stored(row, sparse) for row, sparse in rows], VECTOR)
    start = data.draw(st.integers(0, len(rows) - 1))
    part = array.slice(start)
    assert measure(part, "vector") == Measure(0, 0, size, size)
    got = to_numpy(part, ColumnSpec("v", "float64", (size,), "vector"))
    assert np.array_equal(got, np.array([row for row, _ in rows[start:]]))
    assert got.dtype == np.float64


def test_an_all_zero_sparse_vector_is_a_row_of_zeros() -> None:
    array = pa.array([_sparse([0.0, 0.0]), _sparse([0.0, 3.0])], VECTOR)
    assert to_numpy(array, ColumnSpec("v", "float64", (2,), "vector")).tolist() == [[0, 0], [0, 3]]


def test_sizes_of_vectors_are_seen_in_both_forms() -> None:
    array = pa.array([_stored([1.0, 2.0, 3.0], False), _sparse([0.0, 0.0, 0.0, 1.0]), None], VECTOR)
    assert measure(array, "vector") == Measure(1, 0, 3, 4)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "float32", "float64"])
def test_arrays_keep_their_type(dtype: str) -> None:
    rows = np.arange(6).reshape(3, 2).astype(dtype)
    array = pa.array(rows.tolist(), pa.list_(pa.from_numpy_dtype(np.dtype(dtype))))
    got = to_numpy(array.slice(1), ColumnSpec("a", dtype, (2,), "array"))
    assert got.dtype == dtype
    assert np.array_equal(got, rows[1:])


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "float32", "float64"])
def test_scalars_keep_their_type(dtype: str) -> None:
    rows = np.array([0, 1, 1]).astype(dtype)
    got = to_numpy(pa.array(rows), ColumnSpec("s", dtype))
    assert got.dtype == dtype
    assert np.array_equal(got, rows)


def test_large_integers_survive() -> None:
    assert to_numpy(pa.array([2**53 + 1]), ColumnSpec("i", "int64")).tolist() == [2**53 + 1]


def test_nulls_are_counted_where_they_are() -> None:
    assert measure(pa.array([1, None, None]), "scalar") == Measure(nulls=2)
    array = pa.array([[1.0, None], None, [3.0]], pa.list_(pa.float64()))
    assert measure(array, "array") == Measure(1, 1, 1, 2)
    assert measure(pa.array([float("nan")]), "scalar") == Measure()


def test_measures_add_up() -> None:
    total = Measure()
    assert total.clean
    total.merge(Measure(1, 0, 3, 3))
    total.merge(Measure())
    total.merge(Measure(1, 2, 2, 3))
    assert total == Measure(2, 2, 2, 3)


@pytest.mark.parametrize(
    ("found", "clean"),
    [(Measure(), True), (Measure(0, 0, 2, 2), True), (Measure(1), False), (Measure(0, 1, 2, 2), False)],
)
def test_clean_is_storable(found: Measure, clean: bool) -> None:
    assert found.clean == clean


def test_empty_or_ragged_rows_are_not_clean() -> None:
    assert not Measure(0, 0, 0, 0).clean
    assert not Measure(0, 0, 1, 2).clean
