"""Transform: types, order, extra columns, odd names, and refusals that name the column."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pyspark.errors import PySparkException
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F

from sparkdl_ring.errors import SchemaError
from sparkdl_ring.ml import TorchEstimator, TorchModel, ship

pytestmark = pytest.mark.spark


def _sum_net(wide: int = 1) -> torch.nn.Module:
    """Adds up its features, whatever their shapes."""

    class Sum(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(wide, dtype=torch.float64))

        def forward(self, *features: torch.Tensor) -> torch.Tensor:
            flat = [f.reshape(len(f), -1).to(torch.float64) for f in features]
            return torch.cat(flat, dim=1).sum(dim=1, keepdim=True) * self.scale

    return Sum()


def _fit(frame, features: list[str], **changes) -> TorchModel:
    chosen = {
        "model": _sum_net(),
        "loss": torch.nn.functional.mse_loss,
        "optimizer": lambda parameters: torch.optim.SGD(parameters, lr=0.0),
        "feature_cols": features,
        "label_cols": "y",
        "batch_size": 64,
        "tracking": "none",
        "settings": {"comm.connect_timeout_s": 60},
    }
    return TorchEstimator(**{**chosen, **changes}).fit(frame)


@pytest.fixture(scope="module")
def frame(spark):
    rows = [(i, i % 2 == 0, float(i), [i, 1], Vectors.dense(i, 2), f"row {i}", 0.0) for i in range(40)]
    return spark.createDataFrame(rows, ["a", "b", "c", "d", "e", "extra", "y"]).selectExpr(
        "int(a) AS a", "b", "float(c) AS c", "transform(d, x -> int(x)) AS d", "e", "extra", "y"
    )


@pytest.fixture(scope="module")
def model(frame) -> TorchModel:
    return _fit(frame, ["a", "b", "c", "d", "e"])


def _expected(i: int) -> float:
    return 4 * i + (i % 2 == 0) + 3


def test_all_kinds_of_features_in_any_order_without_label(frame, model) -> None:
    shuffled = frame.select("extra", "e", "d", "c", "b", "a").repartition(3).cache()
    before = shuffled.collect()
    after = model.transform(shuffled)
    assert after.columns == [*shuffled.columns, "prediction"]
    assert after.schema["prediction"].dataType.typeName() == "double"
    rows = after.collect()
    assert [row[:-1] for row in rows] == [tuple(row) for row in before]
    assert [row["prediction"] for row in rows] == pytest.approx([_expected(row["a"]) for row in rows])


def test_a_vector_may_come_as_array_and_sparse(spark, frame, model) -> None:
    as_array = frame.selectExpr("a", "b", "c", "array(double(a), 2D) AS e", "d")
    assert model.transform(as_array).first()["prediction"] == pytest.approx(_expected(0))
    sparse = spark.createDataFrame([(Vectors.sparse(2, {1: 2.0}),)], ["e"]).selectExpr(
        "0 AS a", "true AS b", "0F AS c", "array(0, 1) AS d", "e"
    )
    assert model.transform(sparse).first()["prediction"] == pytest.approx(_expected(0))


def test_empty_partitions_and_no_rows(frame, model) -> None:
    assert model.transform(frame.filter("a = 7").repartition(4)).count() == 1
    assert model.transform(frame.filter("a < 0")).collect() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": "NULL"}, "'a' has a null"),
        ({"c": "if(a = 7, NULL, c)"}, "'c' has a null"),
        ({"d": "array(1, NULL)"}, "'d' has a null inside an array"),
        ({"d": "array(1)"}, "'d' has a row of 1 values instead of 2"),
    ],
)
def test_rows_that_do_not_fit_are_refused_by_name(frame, model, change: dict[str, str], message: str) -> None:
    exprs = [f"{change.get(name, name)} AS {name}" for name in "abcde"]
    if "a" in change:
        exprs[0] = "int(NULL) AS a"
    with pytest.raises(PySparkException, match=message):
        model.transform(frame.selectExpr(*exprs)).collect()


@pytest.mark.parametrize(
    ("exprs", "message"),
    [
        (["b", "c", "d", "e"], "'a' is missing"),
        (["string(a) AS a", "b", "c", "d", "e"], "'a' is of type string"),
        (["a + 0.5D AS a", "b", "c", "d", "e"], "'a' holds float64, the model was trained on int32"),
        (["array(a) AS a", "b", "c", "d", "e"], "'a' is a array, the model was trained on a scalar"),
        (["a", "b", "c", "d", "e", "1 AS Prediction"], r"already has column\(s\) \['prediction'\]"),
    ],
)
def test_frames_that_do_not_fit_are_refused_on_the_driver(
    frame, model, exprs: list[str], message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        model.transform(frame.selectExpr(*exprs))


def test_nan_is_not_null(frame, model) -> None:
    row = model.transform(frame.selectExpr("a", "b", "float('nan') AS c", "d", "e")).first()
    assert np.isnan(row["prediction"])


def test_another_prediction_column(frame, model) -> None:
    other = model.copy({model.prediction_cols: ["p"], model.inference_batch_size: 3})
    assert other.transform(frame).columns[-1] == "p"
    assert model.getPredictionCols() == ["prediction"]
    both = other.transform(model.transform(frame)).collect()
    assert all(row["p"] == row["prediction"] for row in both)


def test_odd_column_names(spark) -> None:
    names = ["a.b", "a b", "x-y", "1st", "class", "_x", "click rate (%)", "b`q", "g+h"]
    quoted = [f"`{name.replace('`', '``')}`" for name in names]
    frame = spark.range(6).selectExpr(*(f"double(id) AS {name}" for name in quoted), "0D AS `y.z`")
    fitted = _fit(frame, names, label_cols="y.z", prediction_col="p.q (%)")
    rows = fitted.transform(frame.select(*reversed(quoted))).orderBy("class").collect()
    assert [row["p.q (%)"] for row in rows] == [9 * i for i in range(6)]


@pytest.mark.skipif(not hasattr(F, "arrow_udf"), reason="it is the only way before Spark 4.1")
def test_the_way_for_older_spark_gives_the_same(frame, model, monkeypatch) -> None:
    expected = model.transform(frame).collect()
    monkeypatch.delattr(F, "arrow_udf")
    assert model.transform(frame).collect() == expected


def test_a_transform_of_the_output_may_make_two_columns(frame) -> None:
    targets = frame.selectExpr("*", "array(0D, 0D, 0D) AS w")
    fitted = _fit(
        targets,
        ["a"],
        model=_sum_net(3),
        label_cols="w",
        output_transform=lambda out: (out.argmax(1), out.float()),
        prediction_cols=["kind", "scores"],
    )
    given = fitted.transform(frame)
    assert given.dtypes[-2:] == [("kind", "bigint"), ("scores", "array<float>")]
    assert given.filter("a = 7").first()["scores"] == pytest.approx([7, 7, 7])


def test_large_models_are_broadcast(frame, model, monkeypatch) -> None:
    monkeypatch.setattr(ship, "INLINE_BYTES", 10)
    copy = model.copy()
    copy._parcel = None
    assert copy.transform(frame).filter("prediction > 0").count() == 40
    assert isinstance(copy._parcel[1], ship.Broadcast)
    copy._parcel[1].handle.destroy()
