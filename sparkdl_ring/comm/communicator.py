"""Collectives of one group of ranks on plain arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkdl_ring.comm import groups, objects, shares
from sparkdl_ring.comm import timeline as chrome
from sparkdl_ring.comm.buffers import Operand, operand
from sparkdl_ring.comm.device_arrays import on_device
from sparkdl_ring.comm.dtypes import UINT8
from sparkdl_ring.comm.memory import SharedMemory
from sparkdl_ring.comm.reductions import Reductions
from sparkdl_ring.comm.submit import Call
from sparkdl_ring.errors import ConfigError
from sparkdl_ring.world import World

if TYPE_CHECKING:
    from sparkdl_ring._native import Communicator as NativeCommunicator

DEFAULT_TIMEOUT_S = 300.0


class Communicator(Reductions):
    """The ranks of one run, connected.

    All ranks call the same collectives in the same order; each call is checked (operation, dtype, count,
    shape, name, root) and ranks that disagree all get :class:`~sparkdl_ring.errors.MismatchError`. After any
    :class:`~sparkdl_ring.errors.CollectiveError` the communicator is dead.

    Arrays may be NumPy arrays, torch tensors, and anything with DLPack or the buffer protocol; those on a GPU
    are reduced there, and nothing waits for it (see :mod:`sparkdl_ring.comm.device`). Results are of the kind
    that was given (NumPy arrays for plain buffers). Methods that end in ``_`` work in place: strides are kept
    and bytes outside a slice stay untouched. Autograd does not see a collective: results carry no gradient,
    and leaf tensors that require one (parameters) change as under ``torch.no_grad()``.

    One thread at a time may call. A blocking collective runs in the calling thread while no submitted one is
    under way, else behind those on a progress thread; Ctrl-C ends a blocking one and, with it, the
    communicator on all ranks (``Work.wait`` only stops waiting). In every method
    ``name`` is shown in errors and must be the same on all ranks, and ``timeout_s`` is the longest wait for a
    peer, in seconds (default: the communicator's own).

    Args:
        native: The connected native communicator, owned from now on.
        world: Own place.
        timeout_s: Longest wait for a peer inside one collective, in seconds.
        reasons: Why each transport was chosen, by peer rank.
        places: What tells the hosts of all ranks apart, by rank.
        timeline: Folder that gets a Chrome trace of this rank when it closes; empty: none.
    """

    def __init__(
        self,
        native: NativeCommunicator,
        world: World,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        reasons: Mapping[int, str] | None = None,
        places: Sequence[str] = (),
        timeline: str = "",
    ) -> None:
        if (native.rank, native.size) != (world.rank, world.size):
            raise ConfigError(
                f"rank {native.rank} of {native.size} is not the place {world.rank} of {world.size}"
            )
        super().__init__(native, world, timeout_s)
        self._memory = SharedMemory(native)
        self.reasons = dict(reasons or {})
        self._places = tuple(places)
        self._timeline = timeline
        if timeline:
            chrome.make_folder(timeline)
            native.trace(chrome.CAPACITY)

    @property
    def transports(self) -> dict[int, str]:
        """Peer rank to the name of the transport that leads there, own rank left out."""
        return self._native.transports

    def broadcast_(self, array: Any, root: int = 0, *, name: str = "", timeout_s: float | None = None) -> Any:
        """Overwrites ``array`` on every rank with rank ``root``'s; returns ``array``."""
        if on_device(array):
            self.devices.broadcast(array, root, self._call(name, timeout_s)).wait()
            return array
        given = operand(array)
        target = given.view if self.rank == root else given.writable()
        self._submit.broadcast(given, target, root, self._call(name, timeout_s))
        return array

    def broadcast(self, array: Any, root: int = 0, *, name: str = "", timeout_s: float | None = None) -> Any:
        """Returns rank ``root``'s array as a new array; the others give one of the same shape and dtype."""
        if on_device(array):
            return self.devices.broadcasted(array, root, self._call(name, timeout_s))
        given = operand(array)
        result, target = given.like(given.shape)
        if self.rank == root:
            np.copyto(target, given.view)
        self._submit.broadcast(given, target, root, self._call(name, timeout_s))
        return result

    def allgather(self, array: Any, *, name: str = "", timeout_s: float | None = None) -> Any:
        """Concatenates the arrays of all ranks on axis 0, in rank order.

        The number of rows may differ by rank, the other axes may not. Scalars (0-d) give shape ``(size,)``.
        """
        if on_device(array):
            return self.devices.allgather(array, self._call(name, timeout_s))
        given = operand(array)
        rest = given.shape[1:]
        call = self._rows_call(given, name, timeout_s)
        rows = self._submit.gather_counts(given.shape[0] if given.shape else 1, call)
        result, target = given.like((sum(rows), *rest))
        counts = shares.elements(rows, rest)
        self._submit.allgather(given.dense(), target, counts, given.dtype, call)
        return result

    def alltoall(
        self,
        array: Any,
        splits: Sequence[int] | None = None,
        *,
        name: str = "",
        timeout_s: float | None = None,
    ) -> tuple[Any, list[int]]:
        """Deals the rows of ``array`` out to all ranks, and returns the rows that each has for this one.

        Args:
            array: Its axis 0 is dealt out, rank by rank; the other axes must be alike on all ranks.
            splits: Rows for each rank; default the same number for each.
            name: Name of the call.
            timeout_s: Longest wait for a peer, in seconds.

        Returns:
            The rows from all ranks in rank order, and how many came from each.

        Raises:
            ConfigError: The splits do not fit the rows; nothing was sent.
            CollectiveError: A peer died, timed out or disagreed.
        """
        if on_device(array):
            return self.devices.alltoall(array, splits, self._call(name, timeout_s))
        given = operand(array)
        rows, rest = shares.deal(given.shape, splits, self.size), given.shape[1:]
        call = self._rows_call(given, name, timeout_s)
        coming = self._submit.exchange_counts(rows, call)
        result, target = given.like((sum(coming), *rest))
        sent, received = shares.elements(rows, rest), shares.elements(coming, rest)
        self._submit.alltoall(given.dense(), sent, target, received, given.dtype, call)
        return result, coming

    def barrier(self, *, name: str = "", timeout_s: float | None = None) -> None:
        """Returns when every rank has called it."""
        self._submit.barrier(self._call(name, timeout_s))

    def allgather_object(self, value: Any, *, timeout_s: float | None = None) -> list[Any]:
        """Returns the picklable ``value`` of every rank, by rank."""
        mine, call = objects.encode(value), self._call("objects", timeout_s)
        lengths = self._submit.gather_counts(mine.size, call)
        everyone = np.empty(sum(lengths), np.uint8)
        self._submit.allgather(mine, everyone, lengths, UINT8, call)
        return objects.decode_all(everyone, lengths)

    def broadcast_object(self, value: Any, root: int = 0, *, timeout_s: float | None = None) -> Any:
        """Returns rank ``root``'s picklable ``value`` on every rank; the others' is not looked at."""
        mine = objects.encode(value) if self.rank == root else np.empty(0, np.uint8)
        length = np.array([mine.size], np.int64)
        self.broadcast_(length, root, name="length of object", timeout_s=timeout_s)
        data = mine if self.rank == root else np.empty(int(length[0]), np.uint8)
        self.broadcast_(data, root, name="object", timeout_s=timeout_s)
        return objects.decode(data)

    def new_group(
        self, ranks: Sequence[int], *, name: str = "", timeout_s: float | None = None
    ) -> Communicator | None:
        """A communicator of some of these ranks; all ranks call it alike.

        It shares sockets and memory with this one: it costs no new connection, ends with this one, and a
        failure of one is a failure of both. Groups may overlap; those that do must be used in one order. A
        group that is closed gives its memory back.

        Args:
            ranks: Its members, numbered from 0 in this order.
            name: Name of the call.
            timeout_s: Longest wait for a peer, in seconds.

        Returns:
            The communicator, or ``None`` on a rank that is no member.

        Raises:
            ConfigError: A rank is unknown or given twice; nothing was sent.
            CollectiveError: A peer died, timed out or gave other ranks.
        """
        call = self._call(name, timeout_s)
        native = self._native.new_group(list(ranks), call.timeout_s, call.name)
        if native is None:
            self.devices.share(None, None, call.timeout_s)
            return None
        places = [self._places[rank] for rank in ranks] if self._places else []
        world = groups.place_in(self.world, ranks, places)
        reasons = {i: self.reasons[rank] for i, rank in enumerate(ranks) if rank in self.reasons}
        group = Communicator(native, world, self.timeout_s, reasons, places)
        self.devices.share(group.devices, native, call.timeout_s)
        return group

    def empty(self, shape: int | Sequence[int], dtype: Any = "float32") -> Any:
        """A NumPy array in memory that the ranks of a host share: it is reduced in place, without copies.

        Its contents are undefined. All ranks call it alike. Where no memory can be shared it is an ordinary
        array. The memory lives as long as any view of it, past the communicator too; :meth:`release` gives it
        back earlier.
        """
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        return self._memory.empty(size, dtype, self.timeout_s)

    def adopt(self, array: Any) -> bool:
        """Puts shared pages beneath an array that exists already: same address, same contents.

        All ranks call it alike, with arrays of one size that nobody uses meanwhile. The array must keep its
        memory until :meth:`release`; whole pages are shared, of at least 64 KB.

        Returns:
            False where it cannot be had, as for memory of which a part is shared already; the array is then
            reduced as any other.
        """
        return self._memory.adopt(array, self.timeout_s)

    def release(self, array: Any) -> None:
        """Ends what :meth:`adopt` or :meth:`empty` began. All ranks call it alike.

        An adopted array gets private memory back, with its contents. One from :meth:`empty` may not be used
        any more, nor any view of it: its memory serves the next one.
        """
        self._memory.release(array, self.timeout_s)

    def stats(self) -> dict[str, dict[str, float]]:
        """What was done so far by kind of collective, all groups together.

        Returns:
            ``calls``, ``bytes`` of data, ``total_s``, ``wait_s`` for peers, ``reduce_s``, and
            ``wire_sent_bytes`` and ``wire_received_bytes`` between hosts.
        """
        return self._native.stats()

    def recent(self) -> list[dict[str, Any]]:
        """The last 256 operations of this rank, oldest first: for post-mortems, also of a dead ring."""
        return self._native.recent()

    @contextmanager
    def trace(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Writes the collectives of a block to ``path``, as a Chrome trace of this rank."""
        self._native.trace(chrome.CAPACITY)
        try:
            yield
        finally:
            self._native.trace(0)
            chrome.write(path, self._native.take_trace(), self.rank, self.world.host)

    def abort(self, reason: str) -> None:
        """Tells every peer why this rank ends: all collectives fail everywhere. Never blocks."""
        self._native.abort(reason)

    def close(self) -> None:
        """Leaves and frees everything. Safe to call twice. A group ends with that of all ranks."""
        self.devices.close()
        self._native.close()
        self._submit.forget()
        self._memory.forget()
        if self._timeline:
            folder, self._timeline = self._timeline, ""
            name = f"{self.world.run_id}-{self.world.generation}-rank{self.rank}.json"
            chrome.write(Path(folder) / name, self._native.take_trace(), self.rank, self.world.host)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abort(f"{type(error).__name__}: {error}")
        self.close()

    def _rows_call(self, given: Operand, name: str, timeout_s: float | None) -> Call:
        """A call whose ranks agree on the type and on all axes but the first."""
        shape = shares.open_shape(given.shape[1:]) if given.shape else "()"
        return self._call(f"{name} {given.dtype.name}{shape}".lstrip(), timeout_s)
