"""Hands memory to the native module: labels, deadlines, copies in and out, and buffers kept alive.

Every collective comes blocking (in this thread where nothing else is under way) and as a :class:`Work`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkdl_ring._native import address_of
from sparkdl_ring.comm.buffers import Array, Operand, is_dense
from sparkdl_ring.comm.compress import plan_of
from sparkdl_ring.comm.dtypes import INT64, DType, op_code
from sparkdl_ring.comm.work import Work
from sparkdl_ring.errors import ConfigError

if TYPE_CHECKING:
    from sparkdl_ring._native import Communicator as NativeCommunicator
    from sparkdl_ring._native import Work as NativeWork

Finish = Callable[[], None] | None


class Call:
    """How one collective is called.

    Args:
        name: Shown in errors and checked to be the same on all ranks.
        timeout_s: Longest wait for a peer, in seconds.
        prescale: Multiplies every rank's values.
        postscale: Multiplies the result.
        compress: ``None``, ``fp16``, ``bf16`` or a :class:`~sparkdl_ring.comm.compress.Compression`.
    """

    __slots__ = ("compress", "name", "postscale", "prescale", "timeout_s")

    def __init__(
        self,
        name: str,
        timeout_s: float,
        prescale: float = 1.0,
        postscale: float = 1.0,
        compress: Any = None,
    ) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self.prescale = prescale
        self.postscale = postscale
        self.compress = compress

    def label(self, shape: tuple[int, ...]) -> str:
        """The text that all ranks must agree on; one axis alone is told by the count."""
        return self.name if len(shape) == 1 else f"{self.name} {shape}".lstrip()

    def change(self, count: int) -> tuple[tuple[float, float, int, int], Array | None]:
        """The last arguments of a native reduction, and what must stay alive for them."""
        if self.compress is None:
            return (self.prescale, self.postscale, -1, 0), None
        wire, feedback = plan_of(self.compress)
        lost = None if feedback is None else feedback.residual(self.name, count)
        return (self.prescale, self.postscale, wire, 0 if lost is None else address_of(lost)), lost


class Submitter:
    """Submits collectives on memory; every array handed over lives until the native module has done with it.

    Args:
        native: The connected native communicator.
    """

    def __init__(self, native: NativeCommunicator) -> None:
        self._native = native
        self._flying: deque[Work] = deque()

    def allreduce(self, source: Operand, target: Array, op: str, call: Call) -> None:
        """Reduces ``source`` into ``target``, which may be the same memory."""
        args, _, finish = _reduction(source, target, op, call)
        self._native.run_allreduce(*args)
        if finish is not None:
            finish()

    def allreduce_async(self, source: Operand, target: Array, op: str, call: Call) -> Work:
        """:meth:`allreduce`, submitted."""
        args, keep, finish = _reduction(source, target, op, call)
        return self._launched(self._native.allreduce(*args), keep, finish)

    def grouped_allreduce(self, pairs: Sequence[tuple[Operand, Array]], op: str, call: Call) -> None:
        """Reduces each source into its target, all by one operation."""
        args, _, finish = _group(pairs, op, call)
        self._native.run_grouped_allreduce(*args)
        finish()

    def grouped_allreduce_async(self, pairs: Sequence[tuple[Operand, Array]], op: str, call: Call) -> Work:
        """:meth:`grouped_allreduce`, submitted."""
        args, keep, finish = _group(pairs, op, call)
        return self._launched(self._native.grouped_allreduce(*args), keep, finish)

    def broadcast(self, given: Operand, target: Array, root: int, call: Call) -> None:
        """Fills ``target`` with rank ``root``'s, which on that rank is what ``target`` holds already."""
        if not 0 <= root < self._native.size:
            raise ConfigError(f"root {root} is outside 0..{self._native.size - 1}")
        finish = None
        if self._native.rank != root:
            memory, finish = _landing(target)
        else:
            memory = target if is_dense(target) else given.dense()
        self._native.run_broadcast(
            address_of(memory), memory.size, given.dtype.code, root, call.timeout_s, call.label(given.shape)
        )
        if finish is not None:
            finish()

    def allgather(self, send: Array, target: Array, counts: Sequence[int], dtype: DType, call: Call) -> None:
        """Fills the dense ``target`` with the ``counts[r]`` elements of each rank r."""
        self._native.run_allgather(
            address_of(send), address_of(target), counts, dtype.code, call.timeout_s, call.name
        )

    def gather_counts(self, count: int, call: Call) -> list[int]:
        """Every rank's ``count``, by rank."""
        mine, everyone = np.array([count], np.int64), np.empty(self._native.size, np.int64)
        self.allgather(mine, everyone, [1] * self._native.size, INT64, call)
        return [int(n) for n in everyone]

    def reducescatter(
        self, source: Operand, target: Array, counts: Sequence[int], op: str, call: Call
    ) -> None:
        """Fills the dense ``target`` with this rank's ``counts[rank]`` reduced elements of ``source``.

        ``target`` may be its own part of ``source``.
        """
        send, code = source.dense(), op_code(op, source.dtype)
        change, _ = call.change(send.size)
        self._native.run_reducescatter(
            address_of(send),
            address_of(target),
            counts,
            source.dtype.code,
            code,
            call.timeout_s,
            call.label(source.shape),
            *change,
        )

    def alltoall(
        self,
        send: Array,
        sent: Sequence[int],
        target: Array,
        received: Sequence[int],
        dtype: DType,
        call: Call,
    ) -> None:
        """Sends ``sent[r]`` elements of ``send`` to each rank r and gets ``received[r]`` from it."""
        self._native.run_alltoall(
            address_of(send), sent, address_of(target), received, dtype.code, call.timeout_s, call.name
        )

    def exchange_counts(self, counts: Sequence[int], call: Call) -> list[int]:
        """What each rank has told for this one."""
        mine, theirs = np.array(counts, np.int64), np.empty(self._native.size, np.int64)
        each = [1] * self._native.size
        self.alltoall(mine, each, theirs, each, INT64, call)
        return [int(n) for n in theirs]

    def barrier(self, call: Call) -> None:
        """Returns when every rank has come."""
        self._native.run_barrier(call.timeout_s, call.name)

    def forget(self) -> None:
        """Lets go of all buffers; call it only after the native communicator is closed."""
        self._flying.clear()

    def _launched(self, native: NativeWork, buffers: Sequence[object], finish: Finish) -> Work:
        """Keeps the work (and its buffers) even when the caller drops it or a wait is interrupted."""
        while self._flying and self._flying[0].is_idle():  # first in, first out
            self._flying.popleft()
        work = Work(native, buffers, finish)
        self._flying.append(work)
        return work


def _reduction(
    source: Operand, target: Array, op: str, call: Call
) -> tuple[tuple[Any, ...], tuple[object, ...], Finish]:
    """Arguments of a native allreduce, what must stay alive for it, and what is left to do after it."""
    code = op_code(op, source.dtype)
    recv, finish = _landing(target)
    send = recv if source.view is recv else _departure(source, recv)
    change, lost = call.change(send.size)
    into = address_of(recv)
    start = into if send is recv else address_of(send)
    label = call.label(send.shape)
    args = (start, into, send.size, source.dtype.code, code, call.timeout_s, label, *change)
    return args, (send, recv, source, lost), finish


def _group(
    pairs: Sequence[tuple[Operand, Array]], op: str, call: Call
) -> tuple[tuple[Any, ...], tuple[object, ...], Callable[[], None]]:
    members, keep, finishes = [], [], []
    for source, target in pairs:
        op_code(op, source.dtype)
        recv, finish = _landing(target)
        send = recv if source.view is recv else _departure(source, recv)
        members.append((address_of(send), address_of(recv), send.size, source.dtype.code))
        keep.append((send, recv, source))
        if finish is not None:
            finishes.append(finish)
    label = f"{call.name} {[source.shape for source, _ in pairs]}".lstrip()
    code = op_code(op, pairs[0][0].dtype) if pairs else 0
    args = (members, code, call.timeout_s, label, call.prescale, call.postscale)

    def finish_all() -> None:
        for finish in finishes:
            finish()

    return args, tuple(keep), finish_all


def _landing(target: Array) -> tuple[Array, Finish]:
    """Dense memory for a result, and what moves it to ``target`` where that is not dense itself."""
    if is_dense(target):
        return target, None
    dense = np.empty(target.shape, target.dtype)
    return dense, lambda: np.copyto(target, dense)


def _departure(source: Operand, recv: Array) -> Array:
    """Dense memory to send from: ``recv`` itself when it is the source, never a part of it shifted."""
    send = source.dense()
    if address_of(send) != address_of(recv) and np.may_share_memory(send, recv):
        return send.copy()
    return send
