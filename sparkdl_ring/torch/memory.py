"""Tensors in memory that the ranks of a host share, which the ring reduces without copies."""

from __future__ import annotations

import torch

from sparkdl_ring.comm import Communicator


def zeros(comm: Communicator, count: int, dtype: torch.dtype) -> torch.Tensor:
    """``count`` zeros in shared memory. Collective: all ranks call it alike.

    Args:
        comm: The ranks.
        count: Number of elements.
        dtype: Their type.
    """
    shared = comm.empty(count * dtype.itemsize, "uint8")
    return torch.from_numpy(shared).view(dtype).zero_()
