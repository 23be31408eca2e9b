"""Hands memory to the native module: labels, deadlines, copies in and out, and buffers kept alive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparkdl_ring.comm.buffers import Array, Operand, is_dense
from sparkdl_ring.comm.dtypes import INT64, DType, op_code
from sparkdl_ring.comm.work import Work
from sparkdl_ring.errors import ConfigError

if TYPE_CHECKING:
    from sparkdl_ring._native import Communicator as NativeCommunicator
    from sparkdl_ring._native import Work as NativeWork


@dataclass(frozen=True)
class Call:
    """How one collective is called.

    Args:
        name: Shown in errors and checked to be the same on all ranks.
        timeout_s: Longest wait for a peer, in seconds.
    """

    name: str
    timeout_s: float

    def label(self, shape: Sequence[int] | str) -> str:
        """The text that all ranks must agree on."""
        text = shape if isinstance(shape, str) else f"({', '.join(map(str, shape))})"
        return f"{self.name} {text}".lstrip()


class Submitter:
    """Submits collectives on memory; every array handed over lives until the native module has done with it.

    Args:
        native: The connected native communicator.
    """

    def __init__(self, native: NativeCommunicator) -> None:
        self._native = native
        self._flying: deque[Work] = deque()

    def allreduce(self, source: Operand, target: Array, op: str, call: Call) -> Work:
        """Reduces ``source`` into ``target``, which may be the same memory."""
        code = op_code(op, source.dtype)
        recv, finish = _landing(target)
        send = _departure(source, recv)
        native = self._native.allreduce(
            address(send),
            address(recv),
            send.size,
            source.dtype.code,
            code,
            call.timeout_s,
            call.label(source.shape),
        )
        return self._launched(native, (send, recv, source), finish)

    def broadcast(self, given: Operand, target: Array, root: int, call: Call) -> Work:
        """Fills ``target`` with rank ``root``'s, which on that rank is what ``target`` holds already."""
        if not 0 <= root < self._native.size:
            raise ConfigError(f"root {root} is outside 0..{self._native.size - 1}")
        finish = None
        if self._native.rank != root:
            memory, finish = _landing(target)
        else:
            memory = target if is_dense(target) else given.dense()
        native = self._native.broadcast(
            address(memory), memory.size, given.dtype.code, root, call.timeout_s, call.label(given.shape)
        )
        return self._launched(native, (memory, given), finish)

    def allgather(self, send: Array, target: Array, counts: Sequence[int], dtype: DType, call: Call) -> Work:
        """Fills the dense ``target`` with the ``counts[r]`` elements of each rank r."""
        native = self._native.allgather(
            address(send), address(target), counts, dtype.code, call.timeout_s, call.name
        )
        return self._launched(native, (send, target))

    def gather_counts(self, count: int, call: Call) -> list[int]:
        """Every rank's ``count``, by rank."""
        mine, everyone = np.array([count], np.int64), np.empty(self._native.size, np.int64)
        self.allgather(mine, everyone, [1] * self._native.size, INT64, call).wait()
        return [int(n) for n in everyone]

    def reducescatter(
        self, source: Operand, target: Array, counts: Sequence[int], op: str, call: Call
    ) -> Work:
        """Fills the dense ``target`` with this rank's ``counts[rank]`` reduced elements of ``source``."""
        send, code = source.dense(), op_code(op, source.dtype)
        native = self._native.reducescatter(
            address(send),
            address(target),
            counts,
            source.dtype.code,
            code,
            call.timeout_s,
            call.label(source.shape),
        )
        return self._launched(native, (send, target))

    def barrier(self, call: Call) -> Work:
        """Done when every rank has come."""
        return self._launched(self._native.barrier(call.timeout_s, call.name))

    def forget(self) -> None:
        """Lets go of all buffers; call it only after the native communicator is closed."""
        self._flying.clear()

    def _launched(
        self, native: NativeWork, buffers: Sequence[object] = (), finish: Callable[[], None] | None = None
    ) -> Work:
        """Keeps the work (and its buffers) even when the caller drops it or a wait is interrupted."""
        while self._flying and self._flying[0].is_idle():  # first in, first out
            self._flying.popleft()
        work = Work(native, buffers, finish)
        self._flying.append(work)
        return work


def address(array: Array) -> int:
    """Address of the first element."""
    return int(array.__array_interface__["data"][0])


def _landing(target: Array) -> tuple[Array, Callable[[], None] | None]:
    """Dense memory for a result, and what moves it to ``target`` where that is not dense itself."""
    if is_dense(target):
        return target, None
    dense = np.empty(target.shape, target.dtype)
    return dense, lambda: np.copyto(target, dense)


def _departure(source: Operand, recv: Array) -> Array:
    """Dense memory to send from: ``recv`` itself when it is the source, never a part of it shifted."""
    send = source.dense()
    if address(send) != address(recv) and np.may_share_memory(send, recv):
        return send.copy()
    return send
