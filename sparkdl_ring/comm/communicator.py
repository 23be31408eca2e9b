"""Collectives of one group of ranks on plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkdl_ring.comm import objects, shares
from sparkdl_ring.comm.buffers import operand, result_in
from sparkdl_ring.comm.dtypes import UINT8
from sparkdl_ring.comm.submit import Call, Submitter
from sparkdl_ring.comm.work import Work
from sparkdl_ring.errors import ConfigError
from sparkdl_ring.world import World

if TYPE_CHECKING:
    from sparkdl_ring._native import Communicator as NativeCommunicator

DEFAULT_TIMEOUT_S = 300.0


class Communicator:
    """The ranks of one run, connected.

    All ranks call the same collectives in the same order; each call is checked (operation, dtype, count,
    shape, name, root) and ranks that disagree all get :class:`~sparkdl_ring.errors.MismatchError`. After any
    :class:`~sparkdl_ring.errors.CollectiveError` the communicator is dead.

    Arrays may be NumPy arrays, torch CPU tensors, and anything with DLPack or the buffer protocol; results
    are of the kind that was given (NumPy arrays for plain buffers). Methods that end in ``_`` work in place:
    strides are kept and bytes outside a slice stay untouched. Autograd does not see a collective: results
    carry no gradient, and leaf tensors that require one (parameters) change as under ``torch.no_grad()``.

    One thread at a time may call; a progress thread of the native module does the work. In every method
    ``name`` is shown in errors and must be the same on all ranks, and ``timeout_s`` is the longest wait for a
    peer, in seconds (default: the communicator's own).

    Args:
        native: The connected native communicator, owned from now on.
        world: Own place.
        timeout_s: Longest wait for a peer inside one collective, in seconds.
        reasons: Why each transport was chosen, by peer rank.
    """

    def __init__(
        self,
        native: NativeCommunicator,
        world: World,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        reasons: Mapping[int, str] | None = None,
    ) -> None:
        if (native.rank, native.size) != (world.rank, world.size):
            raise ConfigError(
                f"rank {native.rank} of {native.size} is not the place {world.rank} of {world.size}"
            )
        self._native = native
        self._submit = Submitter(native)
        self.world = world
        self.timeout_s = timeout_s
        self.reasons = dict(reasons or {})

    @property
    def rank(self) -> int:
        """Own position, 0 to ``size - 1``."""
        return self.world.rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.world.size

    @property
    def transports(self) -> dict[int, str]:
        """Peer rank to the name of the transport that leads there, own rank left out."""
        return self._native.transports

    def allreduce(
        self, array: Any, op: str = "mean", *, out: Any = None, name: str = "", timeout_s: float | None = None
    ) -> Any:
        """Reduces ``array`` over all ranks into a new array (or ``out``).

        Args:
            array: Same shape and dtype on every rank.
            op: ``sum``, ``mean``, ``min``, ``max`` or ``product``.
            out: Takes the result; same shape and dtype as ``array``.
            name: Name of the call.
            timeout_s: Longest wait for a peer, in seconds.

        Returns:
            The reduction, the same bits on every rank.

        Raises:
            ConfigError: The array or the operation cannot be used; nothing was sent.
            CollectiveError: A peer died, timed out or disagreed.
        """
        source = operand(array)
        result, target = source.like(source.shape) if out is None else result_in(out, source)
        self._submit.allreduce(source, target, op, self._call(name, timeout_s)).wait()
        return result

    def allreduce_(
        self, array: Any, op: str = "mean", *, name: str = "", timeout_s: float | None = None
    ) -> Any:
        """Like :meth:`allreduce`, in place; returns ``array``."""
        source = operand(array)
        self._submit.allreduce(source, source.writable(), op, self._call(name, timeout_s)).wait()
        return array

    def allreduce_async_(self, array: Any, op: str = "mean", *, name: str = "") -> Work:
        """Submits :meth:`allreduce_`; ``array`` holds the result once ``wait`` or ``done`` has said so."""
        source = operand(array)
        return self._submit.allreduce(source, source.writable(), op, self._call(name, None))

    def broadcast_(self, array: Any, root: int = 0, *, name: str = "", timeout_s: float | None = None) -> Any:
        """Overwrites ``array`` on every rank with rank ``root``'s; returns ``array``."""
        given = operand(array)
        target = given.view if self.rank == root else given.writable()
        self._submit.broadcast(given, target, root, self._call(name, timeout_s)).wait()
        return array

    def broadcast(self, array: Any, root: int = 0, *, name: str = "", timeout_s: float | None = None) -> Any:
        """Returns rank ``root``'s array as a new array; the others give one of the same shape and dtype."""
        given = operand(array)
        result, target = given.like(given.shape)
        if self.rank == root:
            np.copyto(target, given.view)
        self._submit.broadcast(given, target, root, self._call(name, timeout_s)).wait()
        return result

    def allgather(self, array: Any, *, name: str = "", timeout_s: float | None = None) -> Any:
        """Concatenates the arrays of all ranks on axis 0, in rank order.

        The number of rows may differ by rank, the other axes may not. Scalars (0-d) give shape ``(size,)``.
        """
        given = operand(array)
        rest = given.shape[1:]
        shape = shares.open_shape(rest) if given.shape else "()"
        label = self._call(name, timeout_s).label(f"{given.dtype.name}{shape}")
        call = self._call(label, timeout_s)
        rows = self._submit.gather_counts(given.shape[0] if given.shape else 1, call)
        result, target = given.like((sum(rows), *rest))
        counts = shares.elements(rows, rest)
        self._submit.allgather(given.dense(), target, counts, given.dtype, call).wait()
        return result

    def reducescatter(
        self, array: Any, op: str = "mean", *, name: str = "", timeout_s: float | None = None
    ) -> Any:
        """Reduces ``array`` over all ranks and returns this rank's part of axis 0.

        Axis 0 is split as evenly as can be, the larger parts first.
        """
        source = operand(array)
        if not source.shape:
            raise ConfigError("reducescatter needs an axis to split; use allreduce for scalars")
        rows, rest = shares.split(source.shape[0], self.size), source.shape[1:]
        result, target = source.like((rows[self.rank], *rest))
        counts = shares.elements(rows, rest)
        self._submit.reducescatter(source, target, counts, op, self._call(name, timeout_s)).wait()
        return result

    def barrier(self, *, name: str = "", timeout_s: float | None = None) -> None:
        """Returns when every rank has called it."""
        self._submit.barrier(self._call(name, timeout_s)).wait()

    def allgather_object(self, value: Any, *, timeout_s: float | None = None) -> list[Any]:
        """Returns the picklable ``value`` of every rank, by rank."""
        mine, call = objects.encode(value), self._call("objects", timeout_s)
        lengths = self._submit.gather_counts(mine.size, call)
        everyone = np.empty(sum(lengths), np.uint8)
        self._submit.allgather(mine, everyone, lengths, UINT8, call).wait()
        return objects.decode_all(everyone, lengths)

    def broadcast_object(self, value: Any, root: int = 0, *, timeout_s: float | None = None) -> Any:
        """Returns rank ``root``'s picklable ``value`` on every rank; the others' is not looked at."""
        mine = objects.encode(value) if self.rank == root else np.empty(0, np.uint8)
        length = np.array([mine.size], np.int64)
        self.broadcast_(length, root, name="length of object", timeout_s=timeout_s)
        data = mine if self.rank == root else np.empty(int(length[0]), np.uint8)
        self.broadcast_(data, root, name="object", timeout_s=timeout_s)
        return objects.decode(data)

    def abort(self, reason: str) -> None:
        """Tells every peer why this rank ends: all collectives fail everywhere. Never blocks."""
        self._native.abort(reason)

    def close(self) -> None:
        """Leaves and frees everything. Safe to call twice."""
        self._native.close()
        self._submit.forget()

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abort(f"{type(error).__name__}: {error}")
        self.close()

    def _call(self, name: str, timeout_s: float | None) -> Call:
        return Call(name, self.timeout_s if timeout_s is None else timeout_s)
