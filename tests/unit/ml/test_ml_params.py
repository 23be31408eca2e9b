"""Params: names, aliases, getters and setters, copies, and errors that name the near miss."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.ml import TorchEstimator, TorchModel


def test_every_param_has_name_doc_and_default() -> None:
    estimator = TorchEstimator()
    assert {"feature_cols", "batch_size", "settings", "learning_rate"} <= {p.name for p in estimator.params}
    for param in estimator.params:
        assert getattr(TorchEstimator, param.name).name == param.name
        assert param.doc.endswith(".")
        assert estimator.hasDefault(param)
    assert "batch_size: Rows per task and step. (default: 32)" in estimator.explainParams()


def test_snake_case_camel_case_and_singular_names_are_accepted() -> None:
    estimator = TorchEstimator(feature_cols=["a"], labelCols=["b"], prediction_col="p", batchSize=8)
    assert estimator.getFeatureCols() == ["a"]
    assert estimator.getLabelCols() == ["b"]
    assert estimator.getPredictionCols() == ["p"]
    assert estimator.setBatchSize(np.int64(16)) is estimator
    assert estimator.getBatchSize() == 16


def test_an_unknown_name_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"no parameter 'batch_sise'; did you mean 'batch_size'\?"):
        TorchEstimator(batch_sise=8)


@pytest.mark.parametrize("values", [{"epochs": 0}, {"num_workers": 1.5}, {"tracking": "wandb"}])
def test_a_wrong_value_names_its_param(values: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(values))):
        TorchEstimator(**values)


def test_none_keeps_the_default() -> None:
    assert TorchEstimator(batch_size=None, loss_weights=None).getBatchSize() == 32


def test_a_copy_has_its_own_params_and_keeps_the_code() -> None:
    estimator = TorchEstimator(loss=len, epochs=2)
    copy = estimator.copy({estimator.epochs: 5, estimator.learning_rate: np.float32(0.1)})
    assert (copy.getEpochs(), copy.getLearningRate(), copy.loss) == (5, 0.1, len)
    assert (estimator.getEpochs(), estimator.getLearningRate()) == (2, None)


def test_params_are_json() -> None:
    estimator = TorchEstimator(
        feature_cols=np.array(["a", "b"]), learning_rate=np.float32(0.1), settings={"comm.timeout_s": 5}
    )
    assert json.dumps({param.name: value for param, value in estimator.extractParamMap().items()})


def test_an_empty_model_says_where_models_come_from() -> None:
    with pytest.raises(ConfigError, match="fit, or load"):
        _ = TorchModel().history
