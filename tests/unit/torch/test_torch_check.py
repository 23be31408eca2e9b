"""What is refused on the driver, with a word on what to do."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.torch import TorchSpec, check_spec, uses_batch_statistics


def _sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1)


def _spec(model: nn.Module | None = None, **changes) -> TorchSpec:
    return TorchSpec(
        **{"model": model or nn.Linear(2, 1), "loss": nn.functional.mse_loss, "optimizer": _sgd, **changes}
    )


def _frozen() -> nn.Module:
    return nn.Linear(2, 1).requires_grad_(False)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (_spec(_frozen()), "nothing to train"),
        (_spec(nn.Identity()), "nothing to train"),
        (_spec(nn.Embedding(3, 2, sparse=True)), "sparse=False"),
        (_spec(lambda x: x), "not a torch.nn.Module"),
        (_spec(optimizer=torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)), "function of parameters"),
        (_spec(optimizer=lambda p: None), "gave a NoneType"),
        (_spec(optimizer=lambda p: 1 / 0), "ZeroDivisionError"),
        (_spec(optimizer=torch.optim.LBFGS), "LBFGS"),
        (_spec(loss=[nn.functional.mse_loss] * 2), "2 entries for 1 label"),
        (_spec(loss="mse"), "3 entries for 1 label"),
        (_spec(loss=nn.Linear(1, 1)), "part of the model"),
        (_spec(loss_weights=[float("nan")]), "finite"),
        (_spec(metrics={"loss": _sgd}), "used twice"),
        (_spec(metrics={"val_acc": _sgd}), "val_"),
        (_spec(metrics={"acc": 3}), "cannot be called"),
    ],
)
def test_it_is_refused_by_name(spec, message):
    with pytest.raises(ConfigError, match=message):
        check_spec(spec)


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature:UserWarning")
def test_parameters_without_a_shape_are_refused():
    with pytest.raises(ConfigError, match="call the model once"):
        check_spec(_spec(nn.LazyLinear(2)))


def test_loss_weights_must_fit_the_labels():
    """LOG-052."""
    with pytest.raises(ConfigError, match="1 entries for 2"):
        check_spec(_spec(loss_weights=[1.0]), label_cols=["a", "b"])
    check_spec(_spec(loss_weights=[1.0, 3.0]), label_cols=["a", "b"])


def test_a_partly_frozen_model_is_fine_and_nothing_is_changed():
    model = nn.Sequential(_frozen(), nn.Linear(1, 1))
    before = [p.clone() for p in model.parameters()]
    check_spec(_spec(model, loss=nn.CrossEntropyLoss(), metrics={"acc": _sgd}))
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


class BatchNormAct(nn.BatchNorm2d):
    pass


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (nn.Linear(1, 1), False),
        (nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1)), True),
        (BatchNormAct(2), True),
        (nn.SyncBatchNorm(2), True),
        (nn.LayerNorm(2), False),
        (nn.InstanceNorm1d(2, affine=True), False),
        (nn.GroupNorm(1, 2), False),
    ],
)
def test_layers_that_need_two_rows(model, expected):
    assert uses_batch_statistics(model) is expected
