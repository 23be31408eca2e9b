"""What is compared, each behind one small face: the ring's native call, its Python call, torch's gloo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkdl_ring.bench import buffers
from sparkdl_ring.bench.api import Cell, Contender, Method
from sparkdl_ring.bench.baseline import AllReduce, has_torch
from sparkdl_ring.comm import Communicator
from sparkdl_ring.comm.dtypes import DTYPES, OPS

if TYPE_CHECKING:
    import torch

_TIMEOUT_S = 120.0


class NativeRing:
    """The extension's own function; everything it takes is made beforehand, and calls in a row are native.

    Args:
        comm: The ranks.
        method: What to call it.
        words: The memory.
        cell: What it holds.
    """

    def __init__(self, comm: Communicator, method: Method, words: buffers.Words, cell: Cell) -> None:
        self.method = method
        self.words = words
        address = int(words.__array_interface__["data"][0])
        codes = DTYPES[cell.dtype].code, OPS["sum"]
        arguments = (address, address, cell.count, *codes, _TIMEOUT_S, "bench")
        self.call: Callable[[], None] = partial(comm._native.run_allreduce, *arguments)
        self.in_a_row: Callable[[int], float] = partial(comm._native.time_allreduce, *arguments)


class ApiRing:
    """``Communicator.allreduce_`` on an array of the element type.

    Args:
        comm: The ranks.
        method: What to call it.
        words: The memory.
        cell: What it holds.
    """

    def __init__(self, comm: Communicator, method: Method, words: buffers.Words, cell: Cell) -> None:
        self.method = method
        self.words = words
        self._comm = comm
        self._array = _typed(words, cell)

    def call(self) -> None:
        """See :class:`~sparkdl_ring.bench.api.Contender`."""
        self._comm.allreduce_(self._array, "sum", name="bench", timeout_s=_TIMEOUT_S)


class Gloo:
    """torch's gloo.

    Args:
        all_reduce: Its call.
        words: The memory.
        cell: What it holds.
    """

    method = Method("gloo", call="api")

    def __init__(self, all_reduce: AllReduce, words: buffers.Words, cell: Cell) -> None:
        self.words = words
        self._tensor = _tensor(words, cell)
        self._all_reduce = all_reduce

    def call(self) -> None:
        """See :class:`~sparkdl_ring.bench.api.Contender`."""
        self._all_reduce(self._tensor)


class Field:
    """The communicators and the memory that the contenders of every cell work on.

    Args:
        comms: The communicator of each transport.
        most_bytes: Size of the largest cell.
        gloo: The call of torch's gloo; None: it does not take part.
    """

    def __init__(self, comms: Mapping[str, Communicator], most_bytes: int, gloo: AllReduce | None) -> None:
        self._comms = comms
        self._gloo = gloo
        self._private = buffers.private(most_bytes)
        self._shared = {name: shared_memory(comm, most_bytes) for name, comm in comms.items()}

    def line_up(self, cell: Cell) -> list[Contender]:
        """All contenders for one cell, in the order in which they take turns."""
        words = buffers.words_in(self._private, cell)
        contenders: list[Contender] = [] if self._gloo is None else [Gloo(self._gloo, words, cell)]
        for transport, comm in self._comms.items():
            contenders.append(NativeRing(comm, Method("ring", transport), words, cell))
            if cell.dtype != "bfloat16" or has_torch():
                contenders.append(ApiRing(comm, Method("ring", transport, call="api"), words, cell))
            shared = self._shared[transport]
            if shared is not None and transport == "shm":
                inside = buffers.words_in(shared, cell)
                contenders.append(NativeRing(comm, Method("ring", transport, "registered"), inside, cell))
        return contenders


def shared_memory(comm: Communicator, num_bytes: int) -> buffers.Words | None:
    """Memory that all ranks of this host share; none where this build cannot give it. Collective."""
    make = getattr(comm, "empty", None)
    return None if make is None else np.asarray(make((num_bytes,), "uint8"))


def _typed(words: buffers.Words, cell: Cell) -> Any:
    return _tensor(words, cell) if cell.dtype == "bfloat16" else words.view(cell.dtype)


def _tensor(words: buffers.Words, cell: Cell) -> torch.Tensor:
    import torch

    return torch.from_numpy(words.view(np.uint8)).view(getattr(torch, cell.dtype))
