"""A fit over k tasks takes the steps of one process on the same global batches."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from sparkdl_ring.data import ReadOptions, global_batches
from sparkdl_ring.job import DataRef, TrainJob
from sparkdl_ring.store import open_store
from sparkdl_ring.torch import TorchSpec, dumps_spec, loads_spec, train

EPOCHS = 2


@dataclass(frozen=True)
class Case:
    rows: int
    size: int
    batch: int
    files: int = 1
    group_rows: int = 10
    seed: int = 11


def _columns(rows: int) -> dict[str, np.ndarray]:
    draws = np.random.default_rng(rows)
    x = draws.normal(size=(rows, 3))
    return {"x": x, "y": x @ np.array([1.0, -2.0, 3.0]) + 0.1 * draws.normal(size=rows)}


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()


def _spec() -> TorchSpec:
    return TorchSpec(_model(), nn.functional.mse_loss, lambda p: torch.optim.SGD(p, lr=0.05))


def _alone(columns: dict[str, np.ndarray], batches: list[list[np.ndarray]], model: nn.Module) -> list[float]:
    """One process over the global batches; returns the loss of each, weighted sum over rows."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for by_rank in batches:
        rows = np.concatenate(by_rank)
        x, y = torch.from_numpy(columns["x"][rows]), torch.from_numpy(columns["y"][rows])
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item() * len(rows))
    return losses


def _check(case: Case, store, ranks, write_dataset) -> None:
    columns = _columns(case.rows)
    dataset = write_dataset(store, "train", columns, case.files, case.group_rows)
    ref = DataRef(dataset.manifest, ("x",), ("y",))
    job = TrainJob("run", store.url, ref, None, case.batch, EPOCHS, case.seed)
    payload = dumps_spec(_spec())

    def work(comm):
        spec = loads_spec(payload)
        return train(job, spec, comm, store), copy.deepcopy(spec.model.state_dict())

    results = ranks(case.size, work)
    model, expected = _model(), []
    for epoch in range(EPOCHS):
        options = ReadOptions(("x", "y"), case.batch, case.seed, epoch)
        batches = global_batches(dataset, case.size, options)
        expected.append(sum(_alone(columns, batches, model)) / case.rows)
    for result, state in results:
        for name, value in model.state_dict().items():
            torch.testing.assert_close(state[name], value, rtol=0, atol=1e-6)
            assert torch.equal(state[name], results[0][1][name])
        assert [record.rows for record in result.history] == [case.rows] * EPOCHS
        assert [record.metrics["loss"] for record in result.history] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("rows", [1, 2, 7, 1000])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("batch", [1, 4, 64])
def test_weights_are_those_of_one_process(store, ranks, write_dataset, rows, size, batch):
    files = {1: 1, 4: 3, 64: 8}[batch]
    group_rows = [1000, 10, 1][size - 1] if rows < 1000 else [1000, 10, 100][size - 1]
    _check(Case(rows, size, batch, files, group_rows), store, ranks, write_dataset)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    case=st.builds(
        Case,
        rows=st.integers(1, 60),
        size=st.integers(1, 4),
        batch=st.integers(1, 20),
        files=st.integers(1, 5),
        group_rows=st.integers(1, 30),
        seed=st.integers(0, 2**31),
    )
)
def test_any_shape_of_data_and_world(case, ranks, write_dataset, tmp_path_factory):
    store = open_store(str(tmp_path_factory.mktemp("store")))
    _check(case, store, ranks, write_dataset)
