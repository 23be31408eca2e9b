"""Every element type as torch tensors: what is reduced, what only travels (LOG-083, LOG-087)."""

from __future__ import annotations

import pytest
import torch

from sparkdl_ring.comm.dtypes import DTYPES
from sparkdl_ring.errors import ConfigError

REDUCED = [name for name, dtype in DTYPES.items() if dtype.reducible]
MOVED = [name for name, dtype in DTYPES.items() if not dtype.reducible]


def of(name: str, values: list[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).to(getattr(torch, name))


@pytest.mark.parametrize("name", REDUCED)
def test_sums_and_means_of_every_type(ranks, name):
    def work(comm):
        mine = of(name, [comm.rank + 1, 100 * comm.rank])
        return comm.allreduce(mine, "sum"), comm.allreduce(mine, "mean"), comm.allreduce(mine, "max")

    for total, mean, largest in ranks(2, work):
        assert total.dtype == mean.dtype == largest.dtype == getattr(torch, name)
        assert total.to(torch.float64).tolist() == [3, 100]
        assert mean.to(torch.float64).tolist() == [1.5 if "float" in name else 1, 50]
        assert largest.to(torch.float64).tolist() == [2, 100]


@pytest.mark.parametrize("name", MOVED)
def test_moved_types_arrive_and_are_refused_for_reductions(ranks, name):
    def work(comm):
        mine = of(name, [comm.rank, 1])
        with pytest.raises(ConfigError, match=f"{name} cannot be reduced, only moved: cast to"):
            comm.allreduce(mine, "sum")
        return comm.broadcast(mine, root=1), comm.allgather(mine)

    for sent, gathered in ranks(2, work):
        assert sent.dtype == gathered.dtype == getattr(torch, name)
        assert sent.to(torch.float64).tolist() == [1, 1]
        assert gathered.to(torch.float64).tolist() == [0, 1, 1, 1]


def test_a_sum_of_small_integers_wraps_and_their_mean_does_not(ranks):
    """LOG-087: int8 120 + 100 is -36, its average 110."""

    def work(comm):
        mine = torch.tensor([[120, 100][comm.rank]], dtype=torch.int8)
        return comm.allreduce(mine, "sum").item(), comm.allreduce(mine, "mean").item()

    assert ranks(2, work) == [(-36, 110)] * 2


def test_complex_tensors_are_refused_at_once(ranks):
    def work(comm):
        with pytest.raises(ConfigError, match="complex64 is not supported; supported: uint8"):
            comm.allreduce(torch.ones(2, dtype=torch.complex64))

    ranks(1, work)


def test_tensors_that_torch_negates_lazily_have_their_own_sign(ranks):
    def work(comm):
        lazy = torch.complex(torch.ones(3), torch.ones(3)).conj().imag
        assert lazy.is_neg()
        assert lazy.tolist() == [-1, -1, -1]
        with pytest.raises(ConfigError, match="read-only"):
            comm.allreduce_(lazy, "sum")
        return comm.allreduce(lazy, "sum"), comm.allgather(lazy), comm.broadcast(lazy, root=1)

    for total, gathered, sent in ranks(2, work):
        assert total.tolist() == [-2, -2, -2]
        assert gathered.tolist() == [-1] * 6
        assert sent.tolist() == [-1, -1, -1]
