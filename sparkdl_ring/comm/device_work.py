"""A submitted collective on device memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from sparkdl_ring.comm.work import Work


class NativeDeviceWork(Protocol):
    """What is needed of the native module's ``DeviceWork``."""

    def order(self, stream: int, timeout_s: float | None = None) -> None: ...

    def synchronize(self, timeout_s: float | None = None) -> None: ...

    def done(self) -> bool: ...


class DeviceWork(Work):
    """One collective under way on a device. Keeps its buffers alive until it is done.

    Args:
        native: The native work.
        buffers: What must stay alive.
        stream: Gives the stream that is to wait, as an integer.
    """

    def __init__(self, native: NativeDeviceWork, buffers: Sequence[Any], stream: Callable[[], int]) -> None:
        self._device = native
        self._buffers = tuple(buffers)
        self._stream = stream

    def wait(self, timeout_s: float | None = None) -> None:
        """Makes the caller's current stream wait for the result; the host goes on.

        Staged through the host it blocks until the last copy is queued. A failure that comes later is raised
        by the next call, and by :meth:`synchronize`.

        Args:
            timeout_s: Longest wait, in seconds; the collective goes on when it passes.

        Raises:
            CollectiveError: The collective is known to have failed, and with it the communicator.
            TimeoutError: ``timeout_s`` passed first.
        """
        self._device.order(self._stream(), timeout_s)

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Blocks until the result is there.

        Args:
            timeout_s: Longest wait, in seconds; the collective goes on when it passes.

        Raises:
            CollectiveError: The collective failed, and with it the communicator.
            TimeoutError: ``timeout_s`` passed first.
        """
        self._device.synchronize(timeout_s)

    def done(self) -> bool:
        """True once the result is there or the collective has failed (``synchronize`` tells which)."""
        return self._device.done()

    def is_idle(self) -> bool:
        """True once the device no longer touches the buffers."""
        return self._device.done()
