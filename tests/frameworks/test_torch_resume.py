"""A fit that was interrupted and goes on gives the bits of one that never was."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from sparkdl_ring.errors import CheckpointCorruptError, CheckpointError
from sparkdl_ring.job import DataRef, TrainJob
from sparkdl_ring.store import layout, open_store
from sparkdl_ring.torch import TorchSpec, dumps_spec, loads_spec, train
from sparkdl_ring.tracking import read_events

EPOCHS = 4


class Interrupted(Exception):
    """Stands for a task that dies."""


class Net(nn.Module):
    """Parameters, statistics, a buffer outside the state dict, and dropout if wanted."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(dropout), nn.Linear(4, 1))
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, x):
        self.calls += self.training
        return self.body(x)


def _spec(dropout: float = 0.0, optimizer=torch.optim.Adam, loss=nn.functional.mse_loss) -> TorchSpec:
    torch.manual_seed(0)
    return TorchSpec(Net(dropout).double(), loss, lambda p: optimizer(p, lr=0.01))


@pytest.fixture
def job(store, write_dataset) -> TrainJob:
    draws = np.random.default_rng(1)
    columns = {"x": draws.normal(size=(37, 3)), "y": draws.normal(size=37)}
    ref = DataRef(write_dataset(store, "train", columns).manifest, ("x",), ("y",))
    return TrainJob("run", store.url, ref, ref, batch_size=4, epochs=EPOCHS, seed=3, spread_tail=True)


def _fit(job, spec, ranks, size):
    store, payload = open_store(job.store_url), dumps_spec(spec)

    def work(comm):
        mine = loads_spec(payload)
        result = train(job, mine, comm, store)
        return result, {**mine.model.state_dict(), "calls": mine.model.calls}

    return ranks(size, work)


def _figures(result):
    return [(r.epoch, dict(r.metrics), r.rows) for r in result.history]


def _same(one, other) -> None:
    for (result, state), (expected, expected_state) in zip(one, other, strict=True):
        assert _figures(result) == _figures(expected)
        for name, value in expected_state.items():
            assert torch.equal(state[name], value), name


def _dying_loss(calls: int):
    left = [calls]

    def loss(output, label):
        left[0] -= 1
        if left[0] < 0:
            raise Interrupted
        return nn.functional.mse_loss(output, label)

    return loss


def _sgd_momentum(parameters, lr):
    return torch.optim.SGD(parameters, lr=lr, momentum=0.9, nesterov=True)


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.Adagrad, _sgd_momentum])
@pytest.mark.parametrize(("size", "dropout"), [(1, 0.5), (2, 0.0)])
@pytest.mark.parametrize("calls", [3, 17, 35])
def test_it_is_bit_for_bit_the_undisturbed_fit(job, ranks, optimizer, size, dropout, calls):
    """Dropout with one rank only: ranks that are threads share torch's generator."""
    undisturbed = _fit(dataclasses.replace(job, run_id="whole"), _spec(dropout, optimizer), ranks, size)
    with pytest.raises(Interrupted):
        _fit(job, _spec(dropout, optimizer, _dying_loss(calls)), ranks, size)
    resumed = _fit(job, _spec(dropout, optimizer), ranks, size)
    _same(resumed, undisturbed)
    events = [record.epoch for _, record in read_events(open_store(job.store_url), "run")]
    assert events == list(range(EPOCHS))


def test_a_finished_fit_comes_back_as_it_was(job, ranks):
    first = _fit(job, _spec(), ranks, 2)
    _same(_fit(job, _spec(loss=_dying_loss(0)), ranks, 2), first)


def _checkpoint_files(job: TrainJob) -> list[Path]:
    path = open_store(job.store_url).local_path(layout.checkpoints_dir(job.run_id))
    return sorted(Path(path).glob("*.bin"))


def test_a_damaged_newest_checkpoint_costs_an_epoch_and_no_bit(job, ranks, caplog):
    undisturbed = _fit(dataclasses.replace(job, run_id="whole"), _spec(), ranks, 2)
    _fit(dataclasses.replace(job, epochs=3), _spec(), ranks, 2)
    newest = _checkpoint_files(job)[-1]
    newest.write_bytes(newest.read_bytes()[:-1] + b"?")
    _same(_fit(job, _spec(), ranks, 2), undisturbed)
    assert "epoch 2" in caplog.text


def test_only_damaged_checkpoints_are_an_error_until_resume_is_off(job, ranks):
    _fit(dataclasses.replace(job, epochs=1), _spec(), ranks, 1)
    for path in _checkpoint_files(job):
        path.write_bytes(b"")
    with pytest.raises(CheckpointCorruptError):
        _fit(job, _spec(), ranks, 1)
    result, _ = _fit(dataclasses.replace(job, resume=False), _spec(), ranks, 1)[0]
    assert len(result.history) == EPOCHS


def test_another_number_of_tasks_may_go_on(job, ranks):
    """LOG-061."""
    _fit(dataclasses.replace(job, epochs=1), _spec(), ranks, 4)
    results = _fit(job, _spec(), ranks, 2)
    assert [record.rows for record in results[0][0].history] == [37] * EPOCHS
    for name, value in results[0][1].items():
        assert torch.equal(value, results[1][1][name])


def test_another_model_under_the_same_run_is_refused(job, ranks):
    _fit(dataclasses.replace(job, epochs=1), _spec(), ranks, 1)
    other = TorchSpec(nn.Linear(3, 1).double(), nn.functional.mse_loss, _spec().optimizer)
    with pytest.raises(CheckpointError, match="does not fit"):
        _fit(job, other, ranks, 1)
