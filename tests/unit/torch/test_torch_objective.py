"""Losses and figures of one batch; tensors of numpy columns."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from sparkdl_ring.errors import ConfigError, SchemaError
from sparkdl_ring.torch import TorchSpec
from sparkdl_ring.torch.batch import float_dtype, to_tensors
from sparkdl_ring.torch.objective import figure_names, matched, score

mse, mae = nn.functional.mse_loss, nn.functional.l1_loss


def _spec(**changes) -> TorchSpec:
    return TorchSpec(**{"model": nn.Linear(2, 1), "loss": mse, "optimizer": torch.optim.SGD, **changes})


def test_one_label():
    spec = _spec(metrics={"mae": mae})
    out, label = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.0, 4.0])
    scored = score(spec, out, [label])
    assert figure_names(spec, ["y"]) == ["loss", "mae"]
    assert scored.figures == (2.5, 1.5)
    scored.loss.backward()
    assert out.grad is not None


@pytest.mark.parametrize("loss", [mse, [mse, mse]])
def test_two_labels_with_loss_weights(loss):
    """LOG-052: 1 * l1 + 3 * l2."""
    spec = _spec(loss=loss, loss_weights=[1, 3], metrics={"mae": mae})
    outputs = (torch.tensor([1.0]), torch.tensor([[5.0]]))
    scored = score(spec, outputs, [torch.tensor([0.0]), torch.tensor([3.0])])
    assert figure_names(spec, ["a", "b"]) == ["loss", "loss_a", "loss_b", "mae_a", "mae_b"]
    assert scored.figures == (13.0, 1.0, 4.0, 1.0, 2.0)


@pytest.mark.parametrize(
    ("output", "label", "expected"),
    [
        ((3, 1), (3,), (3,)),
        ((3, 1), (3, 1), (3, 1)),
        ((3, 2), (3,), (3, 2)),
        ((1, 1), (1,), (1,)),
        ((3,), (3,), (3,)),
    ],
)
def test_only_one_column_against_none_is_squeezed(output, label, expected):
    assert matched(torch.zeros(output), torch.zeros(label)).shape == expected


def test_outputs_and_losses_of_the_wrong_form_are_refused():
    label = torch.zeros(2)
    with pytest.raises(ConfigError, match=r"\(Tensor\) for 2 label"):
        score(_spec(), torch.zeros(2), [label, label])
    with pytest.raises(ConfigError, match=r"\(dict\) for 1 label"):
        score(_spec(), {"out": label}, [label])
    with pytest.raises(ConfigError, match="reduction='mean'"):
        score(_spec(loss=lambda o, y: (o - y) ** 2), torch.zeros(2), [label])


def test_columns_keep_their_kind():
    columns = {
        "index": np.array([1, 2], np.int32),
        "byte": np.array([1, 200], np.uint8),
        "x": np.ones((2, 3), np.float64),
        "flag": np.array([True, False]),
        "fixed": np.broadcast_to(np.float32(1), (2,)),
    }
    index, byte, x, flag, fixed = to_tensors(columns, list(columns), torch.float32)
    assert (index.dtype, byte.tolist(), flag.dtype) == (torch.int64, [1, 200], torch.bool)
    assert (x.dtype, x.shape, fixed.dtype) == (torch.float32, (2, 3), torch.float32)
    fixed += 1  # its memory is its own
    assert columns["fixed"].tolist() == [1.0, 1.0]


def test_other_columns_are_refused_by_name():
    with pytest.raises(SchemaError, match="'name'"):
        to_tensors({"name": np.array(["a"])}, ["name"], torch.float32)


def test_the_first_floating_parameter_decides():
    assert float_dtype(nn.Linear(1, 1).double()) == torch.float64
    assert float_dtype(nn.Identity()) == torch.float32
