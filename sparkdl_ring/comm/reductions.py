"""Reductions over all ranks: the half of a communicator that adds numbers up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparkdl_ring.comm import shares
from sparkdl_ring.comm.buffers import is_dense, operand, result_in
from sparkdl_ring.comm.device import Devices
from sparkdl_ring.comm.device_arrays import on_device
from sparkdl_ring.comm.submit import Call, Submitter
from sparkdl_ring.comm.work import Work
from sparkdl_ring.errors import ConfigError
from sparkdl_ring.world import World

if TYPE_CHECKING:
    from sparkdl_ring._native import Communicator as NativeCommunicator


class Reductions:
    """See :class:`~sparkdl_ring.comm.Communicator`, which is this and the collectives that only move data.

    Args:
        native: The connected native communicator.
        world: Own place.
        timeout_s: Longest wait for a peer inside one collective, in seconds.
    """

    def __init__(self, native: NativeCommunicator, world: World, timeout_s: float) -> None:
        self._native = native
        self._submit = Submitter(native)
        self.devices = Devices(native, self._submit)
        self.world = world
        self.timeout_s = timeout_s

    @property
    def rank(self) -> int:
        """Own position, 0 to ``size - 1``."""
        return self.world.rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.world.size

    def allreduce(  # noqa: PLR0913 - one name for one operation; all but two are keywords
        self,
        array: Any,
        op: str = "mean",
        *,
        out: Any = None,
        name: str = "",
        timeout_s: float | None = None,
        prescale: float = 1.0,
        postscale: float = 1.0,
        compress: Any = None,
    ) -> Any:
        """Reduces ``array`` over all ranks into a new array (or ``out``).

        Args:
            array: Same shape and dtype on every rank.
            op: ``sum``, ``mean``, ``min``, ``max`` or ``product``.
            out: Takes the result; same shape and dtype as ``array``.
            name: Name of the call.
            timeout_s: Longest wait for a peer, in seconds.
            prescale: Multiplies every rank's values; the same on all ranks, floating types only.
            postscale: Multiplies the result; likewise.
            compress: ``fp16`` or ``bf16``: float32 travels between hosts in half the bytes, and what that
                type cannot hold becomes infinite; between ranks of one host nothing travels. A
                :class:`~sparkdl_ring.comm.compress.Compression` carries over what rounding loses.

        Returns:
            The reduction, the same bits on every rank.

        Raises:
            ConfigError: The array or the operation cannot be used; nothing was sent.
            CollectiveError: A peer died, timed out or disagreed.
        """
        call = self._call(name, timeout_s, prescale, postscale, compress)
        if on_device(array):
            return self.devices.reduced(array, out, op, call)
        source = operand(array)
        result, target = source.like(source.shape) if out is None else result_in(out, source)
        self._submit.allreduce(source, target, op, call)
        return result

    def allreduce_(
        self,
        array: Any,
        op: str = "mean",
        *,
        name: str = "",
        timeout_s: float | None = None,
        prescale: float = 1.0,
        postscale: float = 1.0,
        compress: Any = None,
    ) -> Any:
        """Like :meth:`allreduce`, in place; returns ``array``."""
        call = self._call(name, timeout_s, prescale, postscale, compress)
        if on_device(array):
            return self.devices.reduced(array, array, op, call)
        source = operand(array)
        self._submit.allreduce(source, source.writable(), op, call)
        return array

    def allreduce_async_(
        self,
        array: Any,
        op: str = "mean",
        *,
        name: str = "",
        prescale: float = 1.0,
        postscale: float = 1.0,
        compress: Any = None,
    ) -> Work:
        """Submits :meth:`allreduce_`; ``array`` holds the result once ``wait`` or ``done`` has said so."""
        call = self._call(name, None, prescale, postscale, compress)
        if on_device(array):
            return self.devices.allreduce(array, array, op, call)
        source = operand(array)
        return self._submit.allreduce_async(source, source.writable(), op, call)

    def grouped_allreduce(
        self,
        arrays: Sequence[Any],
        op: str = "mean",
        *,
        name: str = "",
        timeout_s: float | None = None,
        prescale: float = 1.0,
        postscale: float = 1.0,
    ) -> list[Any]:
        """Reduces many arrays as one operation into new ones; small neighbours of a dtype travel together."""
        if arrays and on_device(arrays[0]):
            call = self._call(name, timeout_s, prescale, postscale)
            return self.devices.grouped_allreduce(arrays, None, op, call)
        sources = [operand(array) for array in arrays]
        made = [source.like(source.shape) for source in sources]
        pairs = [(source, target) for source, (_, target) in zip(sources, made, strict=True)]
        self._submit.grouped_allreduce(pairs, op, self._call(name, timeout_s, prescale, postscale))
        return [result for result, _ in made]

    def grouped_allreduce_(
        self,
        arrays: Sequence[Any],
        op: str = "mean",
        *,
        name: str = "",
        timeout_s: float | None = None,
        prescale: float = 1.0,
        postscale: float = 1.0,
    ) -> Sequence[Any]:
        """Like :meth:`grouped_allreduce`, in place; returns ``arrays``."""
        if arrays and on_device(arrays[0]):
            call = self._call(name, timeout_s, prescale, postscale)
            return self.devices.grouped_allreduce(arrays, arrays, op, call)
        pairs = [(source, source.writable()) for source in map(operand, arrays)]
        self._submit.grouped_allreduce(pairs, op, self._call(name, timeout_s, prescale, postscale))
        return arrays

    def reducescatter(
        self,
        array: Any,
        op: str = "mean",
        *,
        name: str = "",
        timeout_s: float | None = None,
        prescale: float = 1.0,
        postscale: float = 1.0,
        compress: Any = None,
    ) -> Any:
        """Reduces ``array`` over all ranks and returns this rank's part of axis 0.

        Axis 0 is split as evenly as can be, the larger parts first.
        """
        call = self._call(name, timeout_s, prescale, postscale, compress)
        if on_device(array):
            return self.devices.reducescatter(array, op, call)
        source = operand(array)
        rows, rest = shares.rows_of(source.shape, self.size), source.shape[1:]
        result, target = source.like((rows[self.rank], *rest))
        self._submit.reducescatter(source, target, shares.elements(rows, rest), op, call)
        return result

    def reducescatter_(
        self,
        array: Any,
        op: str = "mean",
        *,
        name: str = "",
        timeout_s: float | None = None,
        prescale: float = 1.0,
        postscale: float = 1.0,
    ) -> Any:
        """Like :meth:`reducescatter`, into the own part of ``array``; returns that part as a view.

        The array must be in C order; what its other parts hold afterwards is undefined.
        """
        source = operand(array)
        rows = shares.rows_of(source.shape, self.size)
        memory = source.writable()
        if not is_dense(memory):
            raise ConfigError("reducescatter_ needs an array in C order; use reducescatter")
        own = slice(sum(rows[: self.rank]), sum(rows[: self.rank + 1]))
        counts = shares.elements(rows, source.shape[1:])
        call = self._call(name, timeout_s, prescale, postscale)
        self._submit.reducescatter(source, memory[own], counts, op, call)
        return array[own]

    def _call(
        self,
        name: str,
        timeout_s: float | None,
        prescale: float = 1.0,
        postscale: float = 1.0,
        compress: Any = None,
    ) -> Call:
        return Call(name, self.timeout_s if timeout_s is None else timeout_s, prescale, postscale, compress)
