"""A PyTorch trainee is checked and probed on the driver; the user's model stays as it is."""

from __future__ import annotations

import io

import cloudpickle
import numpy as np
import pytest
import torch

from sparkdl_ring.data import Batch
from sparkdl_ring.errors import ConfigError
from sparkdl_ring.ml.outputs import OutputSpec
from sparkdl_ring.ml.torch_trainee import TorchTrainee, load_predictor
from sparkdl_ring.ml.trainee import Roles
from sparkdl_ring.torch import TorchSpec

_ROLES = Roles(("x",), ("y",), ("prediction",))
_ROWS = Batch({"x": np.ones((2, 3)), "y": np.zeros(2)}, 2)


def _trainee(model=None, loss=torch.nn.functional.mse_loss, transform=None) -> TorchTrainee:
    model = model or torch.nn.Linear(3, 1)
    spec = TorchSpec(model, loss, lambda parameters: torch.optim.SGD(parameters, lr=0.1))
    return TorchTrainee(spec, transform)


def _probe(trainee: TorchTrainee, roles: Roles = _ROLES) -> tuple[OutputSpec, ...]:
    trainee.check(roles)
    return trainee.probe(trainee.payload(), _ROWS, roles)


def test_the_probe_tells_what_the_model_gives() -> None:
    assert _probe(_trainee()) == (OutputSpec("float32", ()),)
    assert _probe(_trainee(transform=lambda out: out.squeeze(1) > 0)) == (OutputSpec("bool", ()),)


def test_half_precision_becomes_float() -> None:
    assert _probe(_trainee(torch.nn.Linear(3, 1).bfloat16())) == (OutputSpec("float32", ()),)


@pytest.mark.parametrize(
    ("trainee", "message"),
    [
        (_trainee(torch.nn.Linear(4, 1)), r"fails on the first 2 rows .*\(2, 3\)"),
        (_trainee(loss=lambda out, y: (out - y) ** 2), "not one number"),
        (_trainee(torch.nn.LSTM(3, 1)), r"one tensor for each"),
        (_trainee(transform=lambda out: out.shape), "int where a tensor"),
    ],
)
def test_what_does_not_fit_the_rows_is_refused(trainee: TorchTrainee, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _probe(trainee)


def test_a_frozen_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="nothing to train"):
        _trainee(torch.nn.Linear(3, 1).requires_grad_(False)).check(_ROLES)


def test_the_probe_changes_neither_model_nor_random_state() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.BatchNorm1d(1), torch.nn.Dropout(0.5))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    trainee = _trainee(model)
    _probe(trainee)
    assert trainee.spreads_tail
    assert model.training
    assert torch.equal(torch.rand(1), expected)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_a_predictor_is_the_module_and_the_transform() -> None:
    trainee = _trainee(transform=lambda out: torch.sigmoid(out))
    file = io.BytesIO()
    torch.save(trainee.spec.model, file, pickle_module=cloudpickle)
    x = np.ones((2, 3), np.float32)
    predictor = load_predictor({"model": file.getvalue(), **trainee.extras()}, ["x"])
    (given,) = predictor([x])
    with torch.no_grad():
        expected = torch.sigmoid(trainee.spec.model(torch.from_numpy(x))).numpy()
    assert np.array_equal(given, expected)
