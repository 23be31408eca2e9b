"""What MLflow holds after a fit (cases LOG-120 to LOG-125)."""

from __future__ import annotations

import json
import logging
import math
import socket
import threading
import time
from collections.abc import Iterator

import mlflow
import numpy as np
import pytest
import torch

from sparkdl_ring.config import environment
from sparkdl_ring.job import EpochRecord
from sparkdl_ring.tracking import ColumnInfo, DatasetRecord, MLflowTracker, ModelRecord, run_tags

FEATURES = ColumnInfo("features", "float32", (3,))
DATASET = DatasetRecord("flights", "file:///data/flights", "d" * 64, 100, (FEATURES,))


pytestmark = [  # MLflow's own code
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType:UserWarning"),
]


@pytest.fixture
def client(mlflow_home: None) -> mlflow.MlflowClient:
    return mlflow.MlflowClient()


def _all_runs(client: mlflow.MlflowClient) -> list[mlflow.entities.Run]:
    return client.search_runs([e.experiment_id for e in client.search_experiments()])


def _epochs(tracker: MLflowTracker, losses: list[float]) -> None:
    for epoch, loss in enumerate(losses):
        tracker.log_epoch(EpochRecord(epoch, {"loss": loss, "val_loss": loss}, rows=100, seconds=0.5))


def test_a_fit_is_one_run_with_everything_in_it(client):
    tracker = MLflowTracker()
    run_id = tracker.start("my fit", {"epochs": 3}, run_tags(4, "spark"), [DATASET])
    _epochs(tracker, [3.0, 2.0, 1.0])
    tracker.finish("FINISHED")
    (run,) = _all_runs(client)
    assert (run.info.run_id, run.info.run_name, run.info.status) == (run_id, "my fit", "FINISHED")
    assert run.data.params == {"epochs": "3"}
    assert run.data.tags["sparkdl_ring.size"] == "4"
    history = client.get_metric_history(run_id, "val_loss")
    assert [(m.step, m.value) for m in history] == [(0, 3.0), (1, 2.0), (2, 1.0)]
    assert run.data.metrics["sparkdl_ring/rows_per_s"] == 200.0
    assert mlflow.active_run() is None


def test_the_dataset_is_known_by_its_manifest(client):
    tracker = MLflowTracker()
    run_id = tracker.start(
        "fit", {}, {}, [DATASET, DatasetRecord("held", "file:///v", "e", 3, (), "validation")]
    )
    tracker.finish("FINISHED")
    train, held = client.get_run(run_id).inputs.dataset_inputs
    assert (train.dataset.name, train.dataset.digest) == ("flights", "d" * 36)
    assert json.loads(train.dataset.profile) == {"num_rows": 100, "manifest_digest": "d" * 64}
    assert "features" in train.dataset.schema
    assert "/data/flights" in train.dataset.source
    assert [t.value for t in held.tags if t.key == "mlflow.data.context"] == ["validation"]


@pytest.mark.parametrize("nested", [False, True])
def test_the_active_run_is_used_and_stays_active(client, nested):
    outer = mlflow.start_run()
    inner = mlflow.start_run(nested=True) if nested else outer
    tracker = MLflowTracker(experiment="other")
    assert tracker.start("fit", {"a": 1}, {}) == inner.info.run_id
    _epochs(tracker, [1.0])
    tracker.finish("FAILED")
    assert mlflow.active_run().info.run_id == inner.info.run_id
    assert client.get_run(inner.info.run_id).info.status == "RUNNING"
    assert len(_all_runs(client)) == 1 + nested
    assert client.get_run(inner.info.run_id).data.metrics["loss"] == 1.0


def test_a_second_fit_in_an_active_run_keeps_its_parameters_and_the_rest(client, caplog):
    run = mlflow.start_run()
    for epochs in (1, 2):
        tracker = MLflowTracker()
        tracker.start("fit", {"epochs": epochs, "seed": 7}, {})
        _epochs(tracker, [float(epochs)])
        tracker.finish("FINISHED")
    data = client.get_run(run.info.run_id).data
    assert data.params == {"epochs": "1", "seed": "7"}
    assert data.metrics["loss"] == 2.0
    assert [r.getMessage() for r in caplog.records if "epochs" in r.getMessage()] != []


@pytest.mark.parametrize("status", ["FINISHED", "FAILED", "KILLED"])
def test_the_run_ends_as_the_fit_did(client, status):
    tracker = MLflowTracker(experiment="own experiment")
    run_id = tracker.start("fit", {}, {})
    tracker.finish(status)
    info = client.get_run(run_id).info
    assert info.status == status
    assert client.get_experiment(info.experiment_id).name == "own experiment"
    assert MLflowTracker(experiment="own experiment").start("again", {}, {})


def test_it_may_end_in_another_thread(client):
    tracker = MLflowTracker()
    starter = threading.Thread(target=lambda: tracker.start("fit", {}, {}))
    starter.start()
    starter.join()
    _epochs(tracker, [1.0])
    tracker.finish("FINISHED")
    (run,) = _all_runs(client)
    assert (run.info.status, run.data.metrics["loss"]) == ("FINISHED", 1.0)


def _log_model(tracker: MLflowTracker, model: torch.nn.Module, sample: dict[str, np.ndarray]) -> str:
    with torch.no_grad():
        prediction = model(*map(torch.from_numpy, sample.values())).numpy()
    columns = tuple(ColumnInfo(n, a.dtype.name, a.shape[1:]) for n, a in sample.items())
    uri = tracker.log_model(ModelRecord(model, columns, prediction, sample))
    assert uri is not None
    return uri


def test_the_model_predicts_after_loading_and_has_a_signature(client):
    tracker = MLflowTracker()
    tracker.start("fit", {}, {})
    model = torch.nn.Linear(3, 2).eval()
    sample = np.arange(6, dtype=np.float32).reshape(2, 3)
    uri = _log_model(tracker, model, {"features": sample})
    tracker.finish("FINISHED")
    expected = model(torch.from_numpy(sample)).detach().numpy()
    np.testing.assert_array_equal(mlflow.pyfunc.load_model(uri).predict(sample), expected)
    signature = mlflow.models.get_model_info(uri).signature
    assert signature.inputs.inputs[0].shape == (-1, 3)
    assert signature.outputs.inputs[0].shape == (-1, 2)
    assert len(_all_runs(client)) == 1


def test_a_column_of_doubles_is_what_the_model_of_floats_takes(client):
    """Spark's vectors are doubles; pyfunc must give the model its own type."""
    tracker = MLflowTracker()
    tracker.start("fit", {}, {})
    model = torch.nn.Linear(3, 1).eval()
    sample = np.arange(6.0).reshape(2, 3)
    prediction = model(torch.from_numpy(sample).float()).detach().numpy()
    column = ColumnInfo("features", "float64", (3,))
    uri = tracker.log_model(ModelRecord(model, (column,), prediction, {"features": sample}))
    tracker.finish("FINISHED")
    served = mlflow.pyfunc.load_model(uri).predict(sample.astype(np.float32))
    np.testing.assert_array_equal(served, prediction)


class TwoInputs(torch.nn.Module):
    """A model over two columns of two types."""

    def forward(self, index: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return index.float().unsqueeze(1) + x


def test_several_inputs_are_named_in_the_signature(client):
    tracker = MLflowTracker()
    tracker.start("fit", {}, {})
    sample = {"carrier": np.arange(2), "x": np.ones((2, 3), np.float32)}
    uri = _log_model(tracker, TwoInputs(), sample)
    tracker.finish("FINISHED")
    inputs = mlflow.models.get_model_info(uri).signature.inputs.inputs
    assert [(i.name, i.type.name, i.shape) for i in inputs] == [
        ("carrier", "int64", (-1,)),
        ("x", "float32", (-1, 3)),
    ]
    loaded = mlflow.pytorch.load_model(uri)
    assert loaded(torch.arange(2), torch.ones(2, 3)).shape == (2, 3)


def test_figures_that_are_not_finite_are_tagged_and_the_model_is_kept(client):
    tracker = MLflowTracker()
    run_id = tracker.start("fit", {}, {})
    _epochs(tracker, [1.0, math.inf, math.nan])
    _log_model(tracker, torch.nn.Linear(3, 1).eval(), {"features": np.ones((2, 3), np.float32)})
    tracker.finish("FINISHED")
    run = client.get_run(run_id)
    assert [m.step for m in client.get_metric_history(run_id, "loss")] == [0]
    assert run.data.tags["sparkdl_ring.non_finite"] == "loss@1 val_loss@1 loss@2 val_loss@2"
    assert len(run.outputs.model_outputs) == 1


def test_a_long_value_is_cut_and_kept_whole_as_an_artifact(client):
    tracker = MLflowTracker()
    columns = [f"a_long_column_{i:06d}" for i in range(1200)]
    run_id = tracker.start("fit", {"feature_cols": columns, "epochs": 1}, {})
    tracker.finish("FINISHED")
    params = client.get_run(run_id).data.params
    assert len(params["feature_cols"]) == 250
    assert params["epochs"] == "1"
    assert mlflow.artifacts.load_text(f"runs:/{run_id}/params/feature_cols.txt") == str(columns)


def test_many_parameters_are_sent_in_parts(client):
    tracker = MLflowTracker()
    run_id = tracker.start("fit", {f"p{i}": i for i in range(250)}, {})
    tracker.finish("FINISHED")
    assert len(client.get_run(run_id).data.params) == 250


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_server_that_never_answers_costs_a_warning(client, dead_port, caplog, monkeypatch):
    waits = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "MLFLOW_HTTP_REQUEST_TIMEOUT": "1"}
    monkeypatch.setattr("sparkdl_ring.tracking.mlflow._IMPATIENT", waits)
    mlflow.set_tracking_uri(f"http://127.0.0.1:{dead_port}")
    tracker = MLflowTracker()
    assert tracker.start("fit", {}, {}) is None
    _epochs(tracker, [1.0])
    tracker.finish("FINISHED")
    assert not waits.keys() & environment().keys()
    assert len([r for r in caplog.records if r.name.startswith("sparkdl_ring")]) == 1


def test_a_server_lost_in_mid_fit_holds_nobody_up(client, dead_port, caplog, monkeypatch):
    tracker = MLflowTracker(drain_s=0.2)
    run_id = tracker.start("fit", {}, {})
    tracker._queue.drain(10)
    gate = threading.Event()
    monkeypatch.setattr(tracker._client, "log_batch", lambda *a, **k: gate.wait(30))
    begin = time.monotonic()
    with caplog.at_level(logging.WARNING):
        _epochs(tracker, [1.0, 2.0])
        assert tracker.log_model(ModelRecord(torch.nn.Linear(1, 1), (FEATURES,), np.ones((1, 1)))) is None
        tracker.finish("FAILED")
    assert time.monotonic() - begin < 5
    gate.set()
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("sparkdl_ring")]
    assert len(ours) == 2
    assert "2 record(s)" in ours[1]
    assert client.get_run(run_id).info.status == "FAILED"
