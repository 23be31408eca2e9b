"""Fits over real processes: a rank is killed in mid-epoch, and the fit that goes on gives the same bits."""

from __future__ import annotations

import dataclasses
import os
import signal

import numpy as np
import pytest
import torch
from torch import nn

from sparkdl_ring import run
from sparkdl_ring.config import CommConfig, RingConfig
from sparkdl_ring.errors import TaskFailedError
from sparkdl_ring.job import DataRef, TrainJob
from sparkdl_ring.store import layout, open_store
from sparkdl_ring.torch import TorchSpec, dumps_spec
from sparkdl_ring.tracking import read_events

pytestmark = [pytest.mark.multi]
SIZE = 2
CONFIG = RingConfig(comm=CommConfig(timeout_s=20))


def _dying(calls: int):
    """A loss that ends rank 1 by SIGKILL at its n-th call."""
    left = [calls]

    def loss(output, label):
        from sparkdl_ring.comm import rank

        left[0] -= 1
        if left[0] < 0 and rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return nn.functional.mse_loss(output, label)

    return loss


def _spec(loss=nn.functional.mse_loss) -> TorchSpec:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
    return TorchSpec(model, loss, lambda p: torch.optim.AdamW(p, lr=0.01))


def _fit(job: TrainJob, spec: TorchSpec):
    store = open_store(job.store_url)
    store.write(layout.payload_path(job.run_id), dumps_spec(spec))

    def task():
        from sparkdl_ring.comm import current
        from sparkdl_ring.store import layout, open_store
        from sparkdl_ring.torch import loads_spec, train

        there = open_store(job.store_url)
        mine = loads_spec(there.read(layout.payload_path(job.run_id)))
        result = train(job, mine, current(), there)
        return result, {name: value.numpy() for name, value in mine.model.state_dict().items()}

    return run(task, num_workers=SIZE, launcher="local", config=CONFIG)


def _same_bits(one, other) -> None:
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_data_loaders_may_fork_inside_a_rank():
    """LOG-150: two forked workers read while the ring is in use; they may not touch it and do not harm it."""

    def task():
        import torch

        from sparkdl_ring.comm import current
        from sparkdl_ring.errors import CollectiveError

        comm = current()

        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, index):
                try:
                    comm.barrier()
                except CollectiveError as error:
                    return index, "fork" in str(error)
                return index, False

        seen = []
        loader = torch.utils.data.DataLoader(Rows(), 2, num_workers=2, multiprocessing_context="fork")
        for index, refused in loader:
            assert refused.all()
            seen += comm.allreduce(index, "sum").tolist()
        return seen

    assert run(task, num_workers=SIZE, launcher="local", config=CONFIG) == [[0, 2, 4, 6, 8, 10, 12, 14]] * 2


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_killed_fit_resumes_bit_for_bit_with_dropout(store, write_dataset):
    draws = np.random.default_rng(1)
    columns = {"x": draws.normal(size=(45, 3)).astype(np.float32), "y": draws.normal(size=45)}
    ref = DataRef(write_dataset(store, "train", columns, files=3).manifest, ("x",), ("y",))
    job = TrainJob("run", store.url, ref, ref, 4, 4, seed=3, spread_tail=True, config=CONFIG)

    undisturbed = _fit(dataclasses.replace(job, run_id="whole"), _spec())
    with pytest.raises(TaskFailedError) as caught:
        _fit(job, _spec(_dying(16)))
    assert caught.value.rank == 1
    assert [seq for seq, _ in read_events(store, "run")] == [0]
    resumed = _fit(job, _spec())

    for (result, state), (expected, expected_state) in zip(resumed, undisturbed, strict=True):
        assert [r.metrics for r in result.history] == [r.metrics for r in expected.history]
        _same_bits(state, expected_state)
        _same_bits(state, resumed[0][1])
    assert result.transports == {0: "shm"}
