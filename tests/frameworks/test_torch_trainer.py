"""The trainer: figures over all rows, tails, empty shards, several labels, buffers."""

from __future__ import annotations

import copy
import dataclasses
import math
import random

import numpy as np
import pytest
import torch
from torch import nn

from sparkdl_ring.errors import ConfigError, EmptyDataError
from sparkdl_ring.job import DataRef, TrainJob
from sparkdl_ring.torch import TorchSpec, dumps_spec, load_model, loads_spec, train
from sparkdl_ring.tracking import read_events


def _sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.05)


def _columns(rows: int, width: int = 3) -> dict[str, np.ndarray]:
    draws = np.random.default_rng(rows)
    x = draws.normal(size=(rows, width))
    return {"x": x, "y": x.sum(1)}


@pytest.fixture
def fit(store, ranks, write_dataset):
    """``fit(spec, train_columns, size=..., **job)`` gives (result, model) by rank."""

    def run(spec, columns, *, size=2, validation=None, features=("x",), labels=("y",), **changes):
        ref = DataRef(write_dataset(store, "train", columns).manifest, features, labels)
        held = None
        if validation is not None:
            held = DataRef(write_dataset(store, "held", validation, group_rows=3).manifest, features, labels)
        job = TrainJob("run", store.url, ref, held, batch_size=4, epochs=2, seed=3)
        job = dataclasses.replace(job, **changes)
        payload = dumps_spec(spec)

        def work(comm):
            mine = loads_spec(payload)
            return train(job, mine, comm, store), mine.model

        return ranks(size, work)

    return run


def _linear(width: int = 3) -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(width, 1).double()


def _same_bits(results) -> None:
    for _, model in results[1:]:
        for (name, a), b in zip(results[0][1].state_dict().items(), model.state_dict().values(), strict=True):
            assert torch.equal(a, b), name
            assert a.dtype == b.dtype


def test_one_rank_with_one_more_batch(fit):
    """LOG-003: 21 rows, batches of 5: 3 steps on rank 0, rank 1 has 2 full ones."""
    results = fit(TorchSpec(_linear(), nn.functional.mse_loss, _sgd), _columns(21), batch_size=5)
    _same_bits(results)
    assert [r.rows for r in results[0][0].history] == [21, 21]
    assert results[0][0] == dataclasses.replace(results[1][0], transports=results[0][0].transports)


def _with_norm() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))


def test_a_tail_of_one_row_and_batch_statistics(fit):
    """LOG-006: 9 rows a task, batches of 8: the tail is merged; every rank ends with the same statistics."""
    spec = TorchSpec(_with_norm(), nn.functional.mse_loss, _sgd)
    results = fit(spec, _columns(18, 4), batch_size=8, spread_tail=True)
    _same_bits(results)
    assert results[0][1][1].num_batches_tracked.item() == 2


def test_without_the_rule_the_message_tells_of_it(fit):
    spec = TorchSpec(_with_norm(), nn.functional.mse_loss, _sgd)
    with pytest.raises(ConfigError, match="spread_tail"):
        fit(spec, _columns(18, 4), batch_size=8)


def test_validation_rows_on_some_ranks_only(fit):
    """LOG-017: 3 validation rows on 4 ranks."""
    columns, held = _columns(40), _columns(3)
    spec = TorchSpec(_linear(), nn.functional.mse_loss, _sgd, {"mae": nn.functional.l1_loss})
    results = fit(spec, columns, size=4, validation=held, epochs=1)
    model = results[0][1].eval()
    out = model(torch.from_numpy(held["x"])).squeeze(1)
    for result, _ in results:
        (record,) = result.history
        assert record.metrics["val_loss"] == pytest.approx(
            nn.functional.mse_loss(out, torch.from_numpy(held["y"])).item(), abs=1e-9
        )
        assert record.metrics["val_mae"] == pytest.approx(
            nn.functional.l1_loss(out, torch.from_numpy(held["y"])).item(), abs=1e-9
        )


def _accuracy(output, label):
    return ((output > 0.5) == (label > 0.5)).double().mean()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_metrics_are_means_over_rows_not_over_ranks(fit, size):
    """LOG-049: three right and one wrong is 0.75 however they are dealt out."""
    still = TorchSpec(
        _linear(1), nn.functional.mse_loss, lambda p: torch.optim.SGD(p, lr=0.0), {"acc": _accuracy}
    )
    nn.init.ones_(still.model.weight)
    nn.init.zeros_(still.model.bias)
    held = {"x": np.array([[1.0], [1.0], [1.0], [1.0]]), "y": np.array([1.0, 1.0, 1.0, 0.0])}
    results = fit(still, {"x": np.ones((5, 1)), "y": np.array([1.0, 1, 1, 0, 0])}, size=size, validation=held)
    for result, _ in results:
        assert result.history[-1].metrics == pytest.approx(
            {"loss": 0.4, "acc": 0.6, "val_loss": 0.25, "val_acc": 0.75}
        )


def test_no_rows_to_train_on(fit):
    """LOG-016."""
    with pytest.raises(EmptyDataError, match="no rows"):
        fit(TorchSpec(_linear(), nn.functional.mse_loss, _sgd), _columns(0))


def test_no_rows_to_validate_on_gives_no_val_figures(fit):
    results = fit(TorchSpec(_linear(), nn.functional.mse_loss, _sgd), _columns(10), validation=_columns(0))
    assert set(results[0][0].history[0].metrics) == {"loss"}


class TwoHeads(nn.Module):
    """A category, a flag and numbers in; two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 2)
        self.body = nn.Linear(6, 2)
        self.idle = nn.Linear(2, 2).requires_grad_(False)

    def forward(self, kind, flag, x):
        assert (kind.dtype, flag.dtype, x.dtype) == (torch.int64, torch.bool, torch.float32)
        hidden = torch.cat([self.table(kind), flag.unsqueeze(1).float(), x], 1)
        out = self.idle(self.body(hidden))
        return out[:, :1], out[:, 1]


def test_several_inputs_and_labels(fit):
    """LOG-052: the loss is 1 * l1 + 3 * l2; frozen parts keep their bits."""
    torch.manual_seed(0)
    draws = np.random.default_rng(0)
    columns = {
        "kind": draws.integers(0, 5, 23).astype(np.int32),
        "flag": draws.random(23) > 0.5,
        "x": draws.normal(size=(23, 3)),
        "a": draws.normal(size=23),
        "b": draws.normal(size=23),
    }
    spec = TorchSpec(
        TwoHeads(), nn.functional.mse_loss, _sgd, {"mae": nn.functional.l1_loss}, loss_weights=[1, 3]
    )
    results = fit(spec, columns, size=3, features=("kind", "flag", "x"), labels=("a", "b"))
    _same_bits(results)
    metrics = results[0][0].history[-1].metrics
    assert metrics["loss"] == pytest.approx(metrics["loss_a"] + 3 * metrics["loss_b"], rel=1e-6)
    assert set(metrics) == {"loss", "loss_a", "loss_b", "mae_a", "mae_b"}
    assert torch.equal(results[0][1].idle.weight, spec.model.idle.weight)


def test_a_diverging_loss_is_not_hidden(fit, store, caplog):
    spec = TorchSpec(_linear(), nn.functional.mse_loss, lambda p: torch.optim.SGD(p, lr=1e200))
    results = fit(spec, _columns(40))
    assert not math.isfinite(results[0][0].history[-1].metrics["loss"])
    assert not math.isfinite(read_events(store, "run")[-1][1].metrics["loss"])
    assert "not finite" in caplog.text


def test_progress_and_model_lie_in_the_store(fit, store):
    results = fit(TorchSpec(_linear(), nn.functional.mse_loss, _sgd), _columns(10), validation=_columns(3))
    result, model = results[0]
    assert [record for _, record in read_events(store, "run")] == list(result.history)
    saved = load_model(store, result.model_path)
    assert torch.equal(saved.weight, model.weight)
    assert not saved.weight._backward_hooks


def test_a_wholly_frozen_model_is_refused(fit):
    """LOG-074."""
    spec = TorchSpec(_linear().requires_grad_(False), nn.functional.mse_loss, _sgd)
    with pytest.raises(ConfigError, match="nothing to train"):
        fit(spec, _columns(4))


def test_the_process_gets_its_random_state_back(fit):
    spec = TorchSpec(_linear(), nn.functional.mse_loss, _sgd)
    torch.manual_seed(5)
    np.random.seed(5)
    random.seed(5)
    expected = copy.deepcopy(torch.get_rng_state()), np.random.get_state()[1].tolist(), random.getstate()
    fit(spec, _columns(4), size=1)
    assert torch.equal(torch.get_rng_state(), expected[0])
    assert np.random.get_state()[1].tolist() == expected[1]
    assert random.getstate() == expected[2]
