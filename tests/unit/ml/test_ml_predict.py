"""Inference as a worker does it: batches, order, one load per worker."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from sparkdl_ring.data import ColumnSpec
from sparkdl_ring.ml import predict, ship
from sparkdl_ring.ml.outputs import OutputSpec
from sparkdl_ring.ml.predict import Inference
from sparkdl_ring.store import open_store

_FEATURES = (ColumnSpec("a", "int64"), ColumnSpec("b", "float32", (2,), "array"))
_OUTPUTS = (OutputSpec("float64", ()), OutputSpec("float32", (2,)))


class _Recorder:
    """A loader whose predictor notes the size of each batch."""

    def __init__(self) -> None:
        self.loads = 0
        self.batches: list[int] = []

    def __call__(self, blobs: dict[str, bytes], features: list[str]):
        self.loads += 1
        assert blobs == {"model": b"m"}
        assert list(features) == ["a", "b"]

        def predictor(arrays):
            a, b = arrays
            assert (a.dtype, b.dtype, b.shape[1:]) == (np.int64, np.float32, (2,))
            self.batches.append(len(a))
            return [a + b.sum(axis=1), b * 2]

        return predictor


@pytest.fixture(autouse=True)
def _nothing_loaded() -> Iterator[None]:
    predict._LOADED.clear()
    yield
    predict._LOADED.clear()


def _inference(recorder: _Recorder, batch_size: int = 4) -> Inference:
    parcel = ship.ship(pickle.dumps({"model": b"m"}), None, None)
    return Inference(parcel, recorder, _FEATURES, _OUTPUTS, batch_size)


def _struct(rows: int, first: int = 0) -> pa.StructArray:
    numbers = range(first, first + rows)
    pairs = pa.array([[n, 1] for n in numbers], pa.list_(pa.float32()))
    return pa.StructArray.from_arrays([pa.array(numbers, pa.int64()), pairs], names=["f0", "f1"])


def test_rows_keep_their_order_over_batches_and_arrays() -> None:
    recorder = _Recorder()
    whole = _struct(20)
    given = list(_inference(recorder).run([whole[:10], whole[10:13]]))
    assert recorder.batches == [4, 4, 2, 3]
    assert [len(array) for array in given] == [10, 3]
    rows = [row for array in given for row in array.to_pylist()]
    assert rows == [{"p0": 2.0 * n + 1, "p1": [2.0 * n, 2.0]} for n in range(13)]


def test_no_rows_give_no_rows_of_the_right_type() -> None:
    (given,) = _inference(_Recorder()).run([_struct(0)])
    assert len(given) == 0
    assert str(given.type) == "struct<p0: double, p1: list<item: float>>"


def test_a_worker_loads_a_model_once() -> None:
    recorder = _Recorder()
    for _ in range(3):
        list(_inference(recorder).run([_struct(1)]))
    assert recorder.loads == 1


def test_a_worker_holds_few_models() -> None:
    for number in range(5):
        parcel = ship.Inline(str(number), pickle.dumps({}))
        predict.loaded(parcel, lambda blobs, features: lambda arrays: [], [])
    assert list(predict._LOADED) == ["3", "4"]


def test_the_return_type_names_every_output() -> None:
    assert _inference(_Recorder()).sql_type == "struct<p0: double, p1: array<float>>"


def test_large_models_go_through_the_store_on_connect(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(ship, "_is_connect", lambda spark: True)
    data = bytes(ship.INLINE_BYTES + 1)
    parcel = ship.ship(data, None, str(tmp_path))
    assert isinstance(parcel, ship.Stored)
    assert pickle.loads(pickle.dumps(parcel)).fetch() == data
    assert open_store(str(tmp_path)).list("models") == [f"{parcel.key}.bin"]


def test_too_large_models_without_a_store_are_refused_on_connect(monkeypatch) -> None:
    monkeypatch.setattr(ship, "_is_connect", lambda spark: True)
    monkeypatch.setattr(ship, "_CONNECT_BYTES", ship.INLINE_BYTES)
    with pytest.raises(ValueError, match="set store"):
        ship.ship(bytes(ship.INLINE_BYTES + 1), None, None)
