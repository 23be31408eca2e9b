"""What cannot be fit is refused on the driver with a typed error, before any training task starts."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest
import torch
from pyspark.ml.linalg import Vectors

from sparkdl_ring.errors import (
    ConfigError,
    EmptyDataError,
    NotEnoughTasksError,
    SchemaError,
    StoreError,
)
from sparkdl_ring.launch.spark import SparkLauncher
from sparkdl_ring.ml import TorchEstimator

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _no_task_starts(monkeypatch) -> None:
    def run(*args: Any, **kwargs: Any) -> None:
        pytest.fail("training tasks were started")

    monkeypatch.setattr(SparkLauncher, "run", run)


def _fit(frame, **changes) -> None:
    chosen = {
        "model": torch.nn.Linear(2, 1),
        "loss": torch.nn.functional.mse_loss,
        "optimizer": torch.optim.SGD,
        "learning_rate": 0.1,
        "feature_cols": ["x"],
        "label_cols": ["y"],
        "num_workers": 2,
        "tracking": "none",
    }
    TorchEstimator(**{**chosen, **changes}).fit(frame)


def _frame(spark, x: str = "array(1D, double(id))", y: str = "double(id)", rows: int = 6):
    return spark.range(0, rows, 1, 2).selectExpr("id", f"{x} AS x", f"{y} AS y")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": "string(id)"}, r"'x' is of type string.*StringIndexer"),
        ({"x": "if(id = 3, NULL, array(1D, 2D))"}, r"'x'.*null"),
        ({"x": "array(1D, if(id = 3, NULL, 2D))"}, r"'x'.*null"),
        ({"y": "if(id = 3, NULL, double(id))"}, r"'y'.*null"),
        ({"x": "if(id = 3, array(1D), array(1D, 2D))"}, r"'x'"),
        ({"x": "array(array(1D))"}, r"'x'.*flatten"),
        ({"x": "timestamp_seconds(id)"}, r"'x'.*timestamp"),
    ],
)
def test_columns_that_cannot_be_used(spark, columns: dict[str, str], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        _fit(_frame(spark, **columns))


def test_vectors_of_two_sizes(spark) -> None:
    rows = [(Vectors.dense(1, 2), 0.0), (Vectors.sparse(3, {0: 1.0}), 1.0)]
    frame = spark.createDataFrame(rows, ["x", "y"])
    with pytest.raises(SchemaError, match="'x'"):
        _fit(frame)


@pytest.mark.parametrize("wrong", [{"feature_cols": ["xx"]}, {"label_cols": ["z"]}, {"validation": "held"}])
def test_missing_columns(spark, wrong: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="missing"):
        _fit(_frame(spark), **wrong)


def test_an_empty_frame(spark) -> None:
    with pytest.raises(EmptyDataError, match="nothing to train on"):
        _fit(_frame(spark, rows=0))


def test_more_workers_than_slots(spark) -> None:
    with pytest.raises(NotEnoughTasksError, match="num_workers is 5"):
        _fit(_frame(spark), num_workers=5)


def test_a_store_without_permission(spark, tmp_path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="in the way"):
        _fit(_frame(spark), store=str(tmp_path / "file" / "store"))


def test_a_store_without_space(spark, monkeypatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="no space is left"):
        _fit(_frame(spark))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": None}, "model must be given"),
        ({"model": len}, "not a torch.nn.Module"),
        ({"model": torch.nn.Linear(2, 1).requires_grad_(False)}, "nothing to train"),
        ({"model": torch.nn.Linear(3, 1)}, r"fails on the first .* \(2, 2\)"),
        ({"loss": lambda out, y: out - y}, "not one number"),
        ({"loss": lambda out: out}, "fails on the first"),
        ({"optimizer": lambda p: None, "learning_rate": None}, "not a torch.optim.Optimizer"),
        ({"optimizer": lambda p: torch.optim.SGD(p, lr=0.1)}, "optimizer"),
        ({"output_transform": (value for value in ())}, "output_transform cannot be pickled"),
        ({"loss_weights": [1.0, 2.0]}, "loss_weights"),
        ({"feature_cols": None}, "feature_cols must be set"),
        ({"prediction_cols": ["p", "q"]}, "1 output"),
    ],
)
def test_a_fit_that_makes_no_sense(spark, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _fit(_frame(spark), **changes)


def test_a_prediction_named_like_a_label(spark) -> None:
    with pytest.raises(SchemaError, match=r"\['y'\] are features or labels"):
        _fit(_frame(spark), prediction_col="y")
