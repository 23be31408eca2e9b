"""Broadcast of parameters, and the one rule for buffers (LOG-067, LOG-068)."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn

from sparkdl_ring.errors import MismatchError
from sparkdl_ring.torch import average_buffers, broadcast_parameters

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
]


def test_every_dtype_and_shape_arrives_bit_for_bit(ranks):
    def make(rank: int) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(rank)
        values = torch.randint(0, 2, (3, 4), generator=generator)
        state = {str(d): values.to(d) for d in DTYPES}
        odd = torch.full((2,), -0.0 if rank == 0 else 1.0)
        state |= {"empty": torch.empty(0, 3), "scalar": torch.tensor(rank + 0.5), "odd": odd}
        state["transposed"] = torch.arange(6.0).reshape(2, 3).t() + rank
        state["column"] = (torch.arange(6.0).reshape(2, 3) + 10 * rank)[:, 1]
        return state

    def work(comm):
        state = make(comm.rank)
        broadcast_parameters(state, comm)
        return state

    for state in ranks(3, work):
        for name, expected in make(0).items():
            assert torch.equal(state[name], expected), name
            assert state[name].dtype == expected.dtype
        assert math.copysign(1, state["odd"][0]) == -1
        assert state["transposed"].stride() == (1, 3)


def test_another_root_modules_and_pairs(ranks):
    def work(comm):
        module = nn.BatchNorm1d(2)
        module.weight.data.fill_(comm.rank)
        module.num_batches_tracked.fill_(comm.rank)
        broadcast_parameters(module, comm, root=1)
        pair = torch.tensor([comm.rank])
        broadcast_parameters([("pair", pair)], comm, root=2)
        return module.weight[0].item(), module.num_batches_tracked.item(), pair.item()

    assert ranks(3, work) == [(1.0, 1, 2)] * 3


@pytest.mark.parametrize("other", [nn.Linear(3, 2), nn.Linear(2, 2, bias=False), nn.Linear(2, 2).double()])
def test_another_model_on_a_rank_is_named(ranks, other):
    def work(comm):
        broadcast_parameters(copy.deepcopy(other) if comm.rank == 1 else nn.Linear(2, 2), comm)

    with pytest.raises(MismatchError, match=r"rank 1 .*(weight|bias)"):
        ranks(2, work)


def test_batch_statistics_are_the_mean_over_ranks(ranks):
    """LOG-067: batches of mean 1 and 5, momentum 0.1: 0.1 * 3, not rank 0's 0.1."""

    def work(comm):
        norm = nn.BatchNorm1d(1)
        norm(torch.tensor([[[0.0], [0.0], [2.0], [2.0]], [[4.0], [4.0], [6.0], [6.0]]][comm.rank]))
        average_buffers(norm, comm, weight=4)
        return copy.deepcopy(norm.state_dict())

    first, second = ranks(2, work)
    assert first["running_mean"].item() == pytest.approx(0.3)
    assert first["running_var"].item() == pytest.approx(0.9 + 0.1 * 4 / 3)
    assert first["num_batches_tracked"].item() == 1
    assert first["num_batches_tracked"].dtype == torch.int64
    assert all(torch.equal(first[name], second[name]) for name in first)


class Odd(nn.Module):
    """Buffers of several kinds."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.register_buffer("running_mean", torch.tensor([1.0, 2.0]) + rank)
        self.register_buffer("half16", torch.tensor(1.0 + rank, dtype=torch.float16))
        self.register_buffer("complex", torch.tensor([1.0 + 2j * rank]))
        self.register_buffer("tracked", torch.tensor(3 + rank))
        self.register_buffer("mask", torch.tensor([rank == 0, True]))
        self.register_buffer("empty", torch.empty(0))
        self.register_buffer("table", torch.tensor([0.1, -math.inf, math.pi]), persistent=False)


def test_floats_are_averaged_the_rest_is_rank_0s_and_dtypes_stay(ranks):
    """LOG-068, and tables on which all agree keep their bits."""

    def work(comm):
        module = Odd(comm.rank)
        average_buffers(module, comm, weight=[1, 3][comm.rank])
        return module

    for module in ranks(2, work):
        assert module.running_mean.tolist() == [1.75, 2.75]
        assert (module.half16.item(), module.half16.dtype) == (1.75, torch.float16)
        assert module.complex.item() == 1 + 1.5j
        assert (module.tracked.item(), module.tracked.dtype) == (3, torch.int64)
        assert module.mask.tolist() == [True, True]
        assert module.empty.shape == (0,)
        assert torch.equal(module.table, torch.tensor([0.1, -math.inf, math.pi]))


def test_a_rank_without_rows_does_not_dilute(ranks):
    def work(comm):
        module = Odd(comm.rank)
        average_buffers(module, comm, weight=[0, 5][comm.rank])
        return module.running_mean.tolist()

    assert ranks(2, work) == [[2.0, 3.0]] * 2


def test_nobody_had_rows_leaves_rank_0s(ranks):
    def work(comm):
        module = Odd(comm.rank)
        average_buffers(module, comm, weight=0)
        return module.running_mean.tolist()

    assert ranks(2, work) == [[1.0, 2.0]] * 2
