"""DistributedDataParallel when something is wrong, and what it leaves behind."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from sparkdl_ring.errors import CollectiveError, ConfigError, MismatchError
from sparkdl_ring.torch import DistributedDataParallel

X = torch.arange(12.0).reshape(4, 3)


def test_a_failure_in_mid_backward_raises_the_typed_error(ranks):
    def work(comm):
        ddp = DistributedDataParallel(nn.Linear(3, 1), comm)
        if comm.rank == 1:
            comm.abort("rank 1 gives up")
            return None
        with pytest.raises(CollectiveError, match="rank 1 gives up"), ddp.step(4):
            ddp(X).mean().backward()
        return True

    assert ranks(2, work)[0]


def test_ranks_that_take_different_steps_are_told(ranks):
    def work(comm):
        ddp = DistributedDataParallel(nn.Linear(3, 1), comm)
        if comm.rank == 0:
            ddp.join_step()
        else:
            ddp(X).mean().backward()

    with pytest.raises(MismatchError):
        ranks(2, work)


def test_an_exception_in_the_block_comes_through_and_the_next_step_is_right(ranks):
    def work(comm):
        model = nn.Linear(3, 1)
        ddp = DistributedDataParallel(model, comm)
        with pytest.raises(KeyError), ddp.step(1):
            raise KeyError("mine")
        with ddp.step(4):
            ddp(X).mean().backward()
        return model.weight.grad

    first, second = ranks(2, work)
    assert torch.equal(first, second)


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf")])
def test_weights_must_make_sense(ranks, weight):
    def work(comm):
        ddp = DistributedDataParallel(nn.Linear(1, 1), comm)
        with pytest.raises(ConfigError, match="weight"), ddp.step(weight):
            pass

    ranks(1, work)


def test_sparse_gradients_are_refused_by_name(ranks):
    def work(comm):
        model = nn.Embedding(4, 2, sparse=True)
        ddp = DistributedDataParallel(model, comm)
        with pytest.raises(ConfigError, match="sparse=False"), ddp.step(1):
            ddp(torch.tensor([1])).sum().backward()

    ranks(1, work)


def test_states_carry_no_prefix_wherever_the_wrapper_sits(ranks):
    def work(comm):
        inner = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        ddp = DistributedDataParallel(inner, comm)
        assert list(ddp.state_dict()) == list(inner.state_dict())
        ddp.load_state_dict(copy.deepcopy(inner).state_dict())
        outer = nn.ModuleDict({"net": ddp})
        assert list(outer.state_dict()) == [f"net.{name}" for name in inner.state_dict()]
        outer.load_state_dict(outer.state_dict())
        with pytest.raises(RuntimeError, match="Missing key"):
            ddp.load_state_dict({})

    ranks(1, work)


def test_a_closed_wrapper_leaves_the_module_alone(ranks):
    def work(comm):
        model = nn.Linear(1, 1)
        ddp = DistributedDataParallel(model, comm)
        ddp.close()
        model(torch.full((1, 1), float(comm.rank))).sum().backward()
        return model.weight.grad.item()

    assert ranks(2, work) == [0.0, 1.0]
