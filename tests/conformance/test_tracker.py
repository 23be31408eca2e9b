"""What every tracker promises: it takes a whole fit, never raises, and leaves no thread behind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sparkdl_ring.job import EpochRecord
from sparkdl_ring.tracking import (
    ColumnInfo,
    DatasetRecord,
    MLflowTracker,
    ModelRecord,
    NullTracker,
    Tracker,
    run_tags,
)

COLUMNS = (ColumnInfo("features", "float32", (3,)), ColumnInfo("label", "float64"))
DATASET = DatasetRecord("flights", "file:///data/flights", "d" * 64, 100, COLUMNS)


pytestmark = [  # MLflow's own code
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType:UserWarning"),
]


@pytest.fixture(params=[NullTracker, MLflowTracker])
def tracker(request: pytest.FixtureRequest, mlflow_home: None) -> Tracker:
    return request.param()


def _model_record() -> ModelRecord:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1).eval()
    sample = np.arange(6, dtype=np.float32).reshape(2, 3)
    prediction = model(torch.from_numpy(sample)).detach().numpy()
    return ModelRecord(model, COLUMNS[:1], prediction, {"features": sample})


def test_it_keeps_the_protocol(tracker):
    assert isinstance(tracker, Tracker)


def test_it_takes_a_whole_fit(tracker):
    run_id = tracker.start("fit", {"epochs": 2, "lr": 0.1}, run_tags(2, "local"), [DATASET])
    for epoch in range(2):
        tracker.log_epoch(EpochRecord(epoch, {"loss": 1.0 / (epoch + 1)}, rows=100, seconds=0.5))
    tracker.set_tags({"sparkdl_ring.transport": "shm"})
    uri = tracker.log_model(_model_record())
    tracker.finish("FINISHED")
    assert (run_id is None) == (uri is None) == isinstance(tracker, NullTracker)


def test_odd_figures_names_and_values_are_no_reason_to_raise(tracker, caplog):
    tracker.start("fit", {"cols": ["c" * 20] * 1200, "a/../b": None}, {"empty": ""})
    tracker.log_epoch(EpochRecord(0, {"loss": math.nan, "y (%)": math.inf, "": 1.0}, rows=0, seconds=0.0))
    tracker.log_epoch(EpochRecord(1, {"loss": 1.0}, rows=1, seconds=0.0))
    tracker.finish("FAILED")
    assert not caplog.records


def test_calls_before_the_start_and_after_the_end_are_quiet(tracker, caplog):
    record = EpochRecord(0, {"loss": 1.0}, rows=1, seconds=1.0)
    tracker.log_epoch(record)
    tracker.set_tags({"a": "b"})
    assert tracker.log_model(_model_record()) is None
    tracker.finish("FAILED")
    tracker.start("fit", {}, {})
    tracker.finish("FINISHED")
    tracker.finish("FINISHED")
    tracker.log_epoch(record)
    assert not caplog.records
