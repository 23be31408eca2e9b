"""A fit in MLflow: exactly one run, complete, and the user's own run stays open."""

from __future__ import annotations

from collections.abc import Iterator

import mlflow
import numpy as np
import pytest
import torch

from sparkdl_ring.errors import TaskFailedError
from sparkdl_ring.launch.spark import SparkLauncher
from sparkdl_ring.ml import TorchEstimator

pytestmark = [
    pytest.mark.spark,
    # MLflow's own code.
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType:UserWarning"),
]


@pytest.fixture
def client(tmp_path) -> Iterator[mlflow.MlflowClient]:
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    client = mlflow.MlflowClient()
    client.create_experiment("here", artifact_location=(tmp_path / "artifacts").as_uri())
    yield client
    mlflow.set_tracking_uri(before)


def _estimator(**changes) -> TorchEstimator:
    chosen = {
        "model": torch.nn.Linear(2, 1),
        "loss": torch.nn.functional.mse_loss,
        "optimizer": torch.optim.SGD,
        "metrics": {"far (%)": lambda out, y: (out - y).abs().mean()},
        "learning_rate": np.float32(0.01),
        "feature_cols": "x",
        "label_cols": "y",
        "validation": 0.25,
        "epochs": 3,
        "num_workers": 2,
        "experiment": "here",
        "run_name": "mine",
    }
    return TorchEstimator(**{**chosen, **changes})


def _frame(spark):
    return spark.range(0, 40, 1, 2).selectExpr("array(double(id % 5), 1D) AS x", "double(id % 5) AS y")


def _runs(client: mlflow.MlflowClient) -> list[mlflow.entities.Run]:
    experiment = client.get_experiment_by_name("here")
    return client.search_runs([experiment.experiment_id])


def test_one_run_with_all_there_is(spark, client) -> None:
    model = _estimator().fit(_frame(spark))
    (run,) = _runs(client)
    assert run.info.run_id == model.run_id
    assert (run.info.status, run.info.run_name) == ("FINISHED", "mine")
    points = client.get_metric_history(model.run_id, "val_loss")
    assert [(p.step, p.value) for p in points] == [(e.epoch, e.metrics["val_loss"]) for e in model.history]
    assert run.data.params["learning_rate"] == "0.01"
    assert (run.data.params["model"], run.data.params["optimizer"]) == ("Linear", "SGD")
    assert run.data.tags["sparkdl_ring.size"] == "2"
    assert run.data.tags["sparkdl_ring.transport"] in ("shm", "tcp")
    contexts = [dataset.tags[0].value for dataset in run.inputs.dataset_inputs]
    assert sorted(contexts) == ["training", "validation"]
    (logged,) = mlflow.search_logged_models([run.info.experiment_id], output_format="list")
    loaded = mlflow.pytorch.load_model(logged.model_uri)
    assert torch.equal(loaded.weight, model.module().weight)


def test_the_users_run_is_used_and_stays_open(spark, client) -> None:
    experiment = client.get_experiment_by_name("here")
    with mlflow.start_run(experiment_id=experiment.experiment_id) as mine:
        model = _estimator(epochs=1).fit(_frame(spark))
        assert mlflow.active_run().info.run_id == mine.info.run_id == model.run_id
        assert client.get_run(mine.info.run_id).info.status == "RUNNING"
    assert len(_runs(client)) == 1


@pytest.mark.parametrize(
    ("error", "status"), [(TaskFailedError("x"), "FAILED"), (KeyboardInterrupt(), "KILLED")]
)
def test_a_fit_that_ends_badly_says_so(spark, client, monkeypatch, error: BaseException, status: str) -> None:
    def run(*args: object) -> None:
        raise error

    monkeypatch.setattr(SparkLauncher, "run", run)
    with pytest.raises(type(error)):
        _estimator().fit(_frame(spark))
    assert [run.info.status for run in _runs(client)] == [status]
    assert mlflow.active_run() is None
