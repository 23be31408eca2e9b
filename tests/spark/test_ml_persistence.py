"""Save and load: the same bits in a new process, refusals that leave nothing half-written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import StandardScaler, VectorAssembler

from sparkdl_ring.errors import CheckpointCorruptError, ConfigError, StoreError
from sparkdl_ring.ml import TorchEstimator, TorchModel

pytestmark = pytest.mark.spark

_ROOT = Path(__file__).resolve().parents[2]
_NEW_PROCESS = """
import sys
from pyspark.ml import PipelineModel
from sparkdl_ring.launch.session import local_session
spark = local_session(2)
frame = spark.range(0, 50, 1, 3).selectExpr("id", "double(id) / 7 AS a", "double(id % 5) AS b")
rows = PipelineModel.load(sys.argv[1]).transform(frame).orderBy("id").collect()
print("\\nbits " + " ".join(row["prediction"].hex() for row in rows))
spark.stop()
"""


def _frame(spark):
    return spark.range(0, 50, 1, 3).selectExpr(
        "id", "double(id) / 7 AS a", "double(id % 5) AS b", "double(id % 2) AS y"
    )


def _estimator(**changes) -> TorchEstimator:
    torch.manual_seed(5)
    scale = 3.0
    chosen = {
        "model": torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)),
        "loss": lambda out, y: torch.nn.functional.binary_cross_entropy_with_logits(out, y) * scale,
        "optimizer": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
        "metrics": {"error": lambda out, y: ((out > 0).float() != y).float().mean()},
        "output_transform": torch.sigmoid,
        "feature_cols": "features",
        "label_cols": "y",
        "batch_size": 8,
        "seed": 3,
        "tracking": "none",
    }
    return TorchEstimator(**{**chosen, **changes})


def _pipeline() -> Pipeline:
    return Pipeline(
        stages=[
            VectorAssembler(inputCols=["a", "b"], outputCol="raw"),
            StandardScaler(inputCol="raw", outputCol="features"),
            _estimator(),
        ]
    )


@pytest.fixture(scope="module")
def fitted(spark) -> PipelineModel:
    return _pipeline().fit(_frame(spark))


def _predictions(model, frame) -> list[str]:
    return [row["prediction"].hex() for row in model.transform(frame).orderBy("id").collect()]


def test_a_pipeline_model_predicts_the_same_bits_in_a_new_process(spark, fitted, tmp_path) -> None:
    path = tmp_path / "a pipeline #1"
    fitted.save(str(path))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _NEW_PROCESS, str(path)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    bits = [line for line in done.stdout.splitlines() if line.startswith("bits ")]
    assert bits, done.stderr[-3000:]
    assert bits[0].split()[1:] == _predictions(fitted, _frame(spark))


def test_metadata_is_read_without_unpickling(fitted, tmp_path) -> None:
    model = fitted.stages[-1]
    model.save(str(tmp_path / "m"))
    (part,) = (tmp_path / "m" / "metadata").glob("part-*")
    metadata = json.loads(part.read_text())
    assert metadata["class"] == "sparkdl_ring.ml.torch.TorchModel"
    facts = metadata["sparkdl_ring"]["facts"]
    assert facts["features"] == [{"name": "features", "dtype": "float64", "shape": [2], "kind": "vector"}]
    assert facts["history"][0]["metrics"]["error"] <= 1
    again = TorchModel.load(str(tmp_path / "m"))
    assert (again.uid, again.history) == (model.uid, model.history)


def test_an_unfitted_pipeline_fits_the_same_after_loading(spark, fitted, tmp_path) -> None:
    _pipeline().save(str(tmp_path / "p"))
    again = Pipeline.load(str(tmp_path / "p")).fit(_frame(spark))
    assert _predictions(again, _frame(spark)) == _predictions(fitted, _frame(spark))


def test_a_path_that_is_taken_is_refused_unless_overwritten(fitted, tmp_path) -> None:
    model, path = fitted.stages[-1], str(tmp_path / "m")
    model.save(path)
    with pytest.raises(StoreError, match="is taken"):
        model.save(path)
    model.copy({model.prediction_cols: ["q"]}).write().overwrite().save(path)
    assert TorchModel.load(path).getPredictionCols() == ["q"]


def test_an_estimator_that_cannot_be_pickled_writes_nothing_and_keeps_what_was_there(tmp_path) -> None:
    path = tmp_path / "e"
    _estimator().save(str(path))
    with pytest.raises(ConfigError, match="loss cannot be pickled"):
        _estimator(loss=(n for n in ())).write().overwrite().save(str(path))
    assert TorchEstimator.load(str(path)).getBatchSize() == 8
    with pytest.raises(ConfigError, match="metrics cannot be pickled"):
        _estimator(metrics={"m": (n for n in ())}).save(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_an_estimator_keeps_code_and_params(tmp_path) -> None:
    _estimator(learning_rate=0.5, settings={"comm.timeout_s": 9}).save(str(tmp_path / "e"))
    again = TorchEstimator.load(str(tmp_path / "e"))
    assert (again.getLearningRate(), again.getSettings()) == (0.5, {"comm.timeout_s": 9})
    assert again.output_transform is torch.sigmoid
    assert again.loss(torch.zeros(1), torch.zeros(1)).item() == pytest.approx(3 * 0.693147, rel=1e-5)


def test_another_class_or_other_bytes_are_refused(spark, fitted, tmp_path) -> None:
    fitted.stages[-1].save(str(tmp_path / "m"))
    with pytest.raises(ConfigError, match="not a TorchEstimator"):
        TorchEstimator.load(str(tmp_path / "m"))
    fitted.stages[-1].copy().save(str(tmp_path / "n"))
    spark.createDataFrame([("model", 0, bytearray(b"?"))], "name string, part int, data binary").write.mode(
        "overwrite"
    ).parquet(str(tmp_path / "n" / "blobs"))
    with pytest.raises(CheckpointCorruptError, match="'model'"):
        TorchModel.load(str(tmp_path / "n"))
