"""The same tensors on every rank: those of one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch

from sparkdl_ring.comm import Communicator
from sparkdl_ring.errors import MismatchError

Tensors = torch.nn.Module | Mapping[str, torch.Tensor] | Iterable[tuple[str, torch.Tensor]]


def broadcast_parameters(source: Tensors, comm: Communicator, root: int = 0) -> None:
    """Overwrites tensors in place with those of rank ``root``, bit for bit, of any dtype. Collective.

    Args:
        source: A module (parameters and buffers), a state dict, or (name, tensor) pairs.
        comm: The ranks.
        root: The rank whose values everyone gets.

    Raises:
        MismatchError: This rank's names, shapes or dtypes are not those of ``root``.
    """
    tensors = _named(source)
    _check_alike(tensors, comm, root)
    with torch.no_grad():
        for name, tensor in tensors.items():
            _broadcast(name, tensor, comm, root)


def _named(source: Tensors) -> dict[str, torch.Tensor]:
    if isinstance(source, torch.nn.Module):
        return {**dict(source.named_parameters()), **dict(source.named_buffers())}
    pairs = source.items() if isinstance(source, Mapping) else source
    return {name: tensor for name, tensor in pairs if isinstance(tensor, torch.Tensor)}


def _check_alike(tensors: Mapping[str, torch.Tensor], comm: Communicator, root: int) -> None:
    mine = {name: f"{tuple(t.shape)} {t.dtype}" for name, t in tensors.items()}
    theirs: dict[str, str] = comm.broadcast_object(mine, root=root)
    if list(mine.items()) == list(theirs.items()):
        return
    names = [n for n in dict.fromkeys([*mine, *theirs]) if mine.get(n) != theirs.get(n)]
    shown = ", ".join(f"{n}: {mine.get(n, 'none')} here, {theirs.get(n, 'none')} there" for n in names[:5])
    raise MismatchError(
        f"rank {comm.rank} has other tensors than rank {root} ({shown or 'in another order'}): build "
        "the same model on every rank",
        rank=comm.rank,
    )


def _broadcast(name: str, tensor: torch.Tensor, comm: Communicator, root: int) -> None:
    if tensor.numel() == 0:
        return
    dense = tensor.detach().cpu().contiguous()  # the tensor's own memory where it is dense already
    comm.broadcast_(dense.reshape(-1).view(torch.uint8), root=root, name=name)
    if dense.data_ptr() != tensor.data_ptr():
        tensor.copy_(dense)
