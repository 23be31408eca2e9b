"""Fit on Spark: exact steps, progress, params that really count, nothing left behind."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import VectorAssembler

from sparkdl_ring.errors import ConfigError, TaskFailedError
from sparkdl_ring.ml import TorchEstimator

pytestmark = pytest.mark.spark

_ROWS, _BATCH, _EPOCHS = 26, 4, 2
_QUICK = {"comm.timeout_s": 20, "comm.connect_timeout_s": 60}


def _net() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Linear(2, 1).double()


def _frame(spark, rows: int = _ROWS, partitions: int = 3):
    return spark.range(0, rows, 1, partitions).selectExpr(
        "id", "array(double(id % 5), double(id % 3)) AS x", "double(2 * (id % 5) - (id % 3) + 1) AS y"
    )


def _estimator(**changes) -> TorchEstimator:
    chosen = {
        "model": _net(),
        "loss": torch.nn.functional.mse_loss,
        "optimizer": torch.optim.SGD,
        "learning_rate": 0.05,
        "feature_cols": "x",
        "label_cols": "y",
        "batch_size": _BATCH,
        "epochs": _EPOCHS,
        "num_workers": 2,
        "seed": 1,
        "shuffle": False,
        "tracking": "none",
        "settings": _QUICK,
    }
    return TorchEstimator(**{**chosen, **changes})


def test_two_tasks_take_the_steps_of_one(spark) -> None:
    model, seen = _net(), []
    before = model.weight.clone()
    fitted = _estimator(model=model, on_epoch=seen.append).fit(_frame(spark))
    alone = _estimator(num_workers=1, batch_size=_ROWS, epochs=_EPOCHS).fit(_frame(spark))
    together = _estimator(num_workers=2, batch_size=_ROWS, epochs=_EPOCHS).fit(_frame(spark))
    assert torch.allclose(alone.module().weight, together.module().weight, rtol=0, atol=1e-12)
    assert torch.equal(model.weight, before)
    assert not torch.equal(fitted.module().weight, before)
    assert [record.epoch for record in fitted.history] == [0, 1]
    assert [record.rows for record in fitted.history] == [_ROWS, _ROWS]
    assert tuple(seen) == fitted.history
    assert fitted.run_id is None


def test_params_of_the_call_count_and_the_estimator_stays(spark) -> None:
    estimator = _estimator(epochs=1)
    longer = estimator.fit(_frame(spark), {estimator.epochs: 3, estimator.batch_size: np.int64(13)})
    assert len(longer.history) == 3
    assert (estimator.getEpochs(), estimator.getBatchSize()) == (1, _BATCH)
    two = estimator.fit(_frame(spark), [{estimator.learning_rate: 0.05}, {estimator.learning_rate: 0.01}])
    assert two[0].uid != two[1].uid
    assert not torch.equal(two[0].module().weight, two[1].module().weight)


def test_a_validation_column_keeps_its_rows_out(spark) -> None:
    frame = _frame(spark).selectExpr("*", "id % 13 = 0 AS held")
    fitted = _estimator(validation="held").fit(frame)
    assert all(record.rows == _ROWS - 2 and "val_loss" in record.metrics for record in fitted.history)


def test_local_processes_train_too(spark) -> None:
    fitted = _estimator(launcher="local").fit(_frame(spark))
    assert torch.equal(fitted.module().weight, _estimator().fit(_frame(spark)).module().weight)


def _bomb(driver: int) -> torch.nn.Module:
    """Fails in the tasks only, not in the probe on the driver. Local: its code travels with it."""

    class Bomb(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if os.getpid() != driver:
                raise ArithmeticError("boom")
            return super().forward(x)

    return Bomb(2, 1)


@pytest.mark.parametrize("given_store", [False, True])
def test_a_failing_rank_is_the_cause_and_temporary_data_goes(
    spark, tmp_path, monkeypatch, given_store
) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    store = {"store": str(tmp_path / "store")} if given_store else {}
    with pytest.raises(TaskFailedError, match="boom") as caught:
        _estimator(model=_bomb(os.getpid()), **store).fit(_frame(spark))
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert not [path for path in scratch.iterdir() if path.name.startswith("sparkdl_ring")]
    assert (tmp_path / "store" / "runs").exists() is given_store


def test_success_leaves_no_temporary_data(spark, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _estimator(epochs=1).fit(_frame(spark))
    assert not list(Path(tmp_path).glob("sparkdl_ring-*"))


def test_what_the_callback_raises_ends_the_fit(spark) -> None:
    def stop(record) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        _estimator(epochs=1, on_epoch=stop).fit(_frame(spark))


def test_a_fit_leaves_sparks_own_models_usable(spark) -> None:
    """A tag on the session, which is one way to cancel a job, would end this."""
    frame = VectorAssembler(inputCols=["y"], outputCol="features").transform(_frame(spark))
    own = LogisticRegression(maxIter=2, labelCol="label").fit(frame.selectExpr("features", "id % 2 AS label"))
    _estimator(epochs=1).fit(_frame(spark))
    assert own.transform(frame).rdd.count() == _ROWS


def test_two_labels_make_two_predictions(spark) -> None:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = torch.nn.Linear(2, 1), torch.nn.Linear(2, 3)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return self.a(x), self.b(x)

    frame = _frame(spark).selectExpr("*", "id % 3 AS kind")
    fitted = _estimator(
        model=Two(),
        loss=[torch.nn.functional.mse_loss, torch.nn.functional.cross_entropy],
        loss_weights=[1.0, 0.5],
        label_cols=["y", "kind"],
        epochs=1,
    ).fit(frame)
    types = dict(fitted.transform(frame).dtypes)
    assert (types["prediction_y"], types["prediction_kind"]) == ("double", "array<float>")
    with pytest.raises(ConfigError, match="2 output"):
        _estimator(
            model=Two(),
            loss=[torch.nn.functional.mse_loss, torch.nn.functional.cross_entropy],
            label_cols=["y", "kind"],
            prediction_cols=["only"],
        ).fit(frame)
