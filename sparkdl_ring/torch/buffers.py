"""One rule for buffers (running statistics of BatchNorm and the like), applied after each training epoch.

Floating buffers become their mean over ranks, weighted by the rows each rank trained on; integers and
booleans become those of rank 0. So every rank ends with the same bits, and a rank without rows does not
dilute the statistics. A value on which all ranks agree (a mask, a table of positions) keeps its very bits.
"""

from __future__ import annotations

import torch

from sparkdl_ring.comm import Communicator
from sparkdl_ring.torch.broadcast import broadcast_parameters


def average_buffers(module: torch.nn.Module, comm: Communicator, weight: float = 1.0) -> None:
    """Makes the buffers of all ranks one, by the rule above. Collective.

    Args:
        module: Its buffers are changed in place; dtypes stay.
        comm: The ranks.
        weight: Rows this rank has trained on since the last call.
    """
    buffers = {name: b.detach() for name, b in module.named_buffers() if b.numel()}
    floating = [b for b in buffers.values() if _is_inexact(b)]
    if floating:
        _average(floating, comm, weight)
    broadcast_parameters({name: b for name, b in buffers.items() if not _is_inexact(b)}, comm)


def _is_inexact(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _average(buffers: list[torch.Tensor], comm: Communicator, weight: float) -> None:
    mine = torch.cat([_flat(b) for b in buffers])
    base = mine.clone()
    comm.broadcast_(base, root=0, name="buffers of rank 0")
    # Distances from rank 0's values, not the values: equal ones (infinities too) then keep their bits.
    apart = torch.where(mine == base, 0.0, mine - base) * weight if weight else torch.zeros_like(mine)
    sums = torch.cat([apart, torch.tensor([weight], dtype=torch.float64)])
    comm.allreduce_(sums, op="sum", name="buffers")
    if sums[-1] > 0:
        base += sums[:-1] / sums[-1]
    _spread(base, buffers)


def _flat(buffer: torch.Tensor) -> torch.Tensor:
    real = torch.view_as_real(buffer) if buffer.is_complex() else buffer
    return real.cpu().to(torch.float64).reshape(-1)


def _spread(flat: torch.Tensor, buffers: list[torch.Tensor]) -> None:
    offset = 0
    for buffer in buffers:
        real = torch.view_as_real(buffer) if buffer.is_complex() else buffer
        real.copy_(flat[offset : offset + real.numel()].view(real.shape))
        offset += real.numel()
