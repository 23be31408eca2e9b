"""Specs and models as bytes (LOG-063, LOG-066)."""

from __future__ import annotations

import functools
import sys
import threading
import types

import pytest
import torch
from torch import nn

from sparkdl_ring.errors import ConfigError, MissingDependencyError
from sparkdl_ring.store import open_store
from sparkdl_ring.torch import TorchSpec, dumps_spec, load_model, loads_spec, save_model


def _within(out, y, *, bound):
    return ((out - y).abs() < bound).float().mean()


def test_lambdas_partials_closures_and_local_classes_cross():
    scale = [2.0]

    class Local(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 1)

        def forward(self, x):
            return self.inner(x) * scale[0]

    spec = TorchSpec(
        Local(),
        lambda out, y: ((out - y) ** 2).mean(),
        lambda p: torch.optim.SGD(p, lr=scale[0]),
        {"near": functools.partial(_within, bound=0.5)},
    )
    there = loads_spec(dumps_spec(spec))
    x = torch.ones(3, 2)
    assert torch.equal(there.model(x), spec.model(x))
    assert there.loss(torch.zeros(2), torch.ones(2)) == 1
    assert there.optimizer(there.model.parameters()).param_groups[0]["lr"] == 2.0
    assert there.metrics["near"](torch.zeros(2), torch.zeros(2)) == 1


@pytest.mark.parametrize("part", ["model", "loss", "optimizer", "metrics"])
def test_what_cannot_cross_is_named(part):
    lock = threading.Lock()
    model = nn.Linear(1, 1)
    parts = {"model": model, "loss": nn.functional.mse_loss, "optimizer": torch.optim.SGD, "metrics": {}}
    if part == "model":
        model.lock = lock
    else:
        bad = lambda *_: lock  # noqa: E731
        parts[part] = {"m": bad} if part == "metrics" else bad
    with pytest.raises(ConfigError, match=part):
        dumps_spec(TorchSpec(**parts))


def test_a_module_that_is_not_there_is_named_with_what_to_do(monkeypatch):
    helper = types.ModuleType("helper_of_user")
    exec("import torch\nclass Net(torch.nn.Linear): pass", helper.__dict__)
    monkeypatch.setitem(sys.modules, "helper_of_user", helper)
    data = dumps_spec(TorchSpec(helper.Net(1, 1), nn.functional.mse_loss, torch.optim.SGD))
    monkeypatch.delitem(sys.modules, "helper_of_user")
    with pytest.raises(MissingDependencyError, match=r"helper_of_user.*pyFiles"):
        loads_spec(data)


def test_a_model_comes_back_with_its_weights(tmp_path):
    store = open_store(str(tmp_path))
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.BatchNorm1d(2), shared)
    save_model(store, "runs/a/model.bin", model)
    back = load_model(store, "runs/a/model.bin")
    assert back[0] is back[2]
    assert all(
        torch.equal(a, b)
        for a, b in zip(model.state_dict().values(), back.state_dict().values(), strict=True)
    )


def test_another_payload_is_refused():
    with pytest.raises(ConfigError, match="not a TorchSpec"):
        loads_spec(dumps_spec(nn.Linear(1, 1)))
