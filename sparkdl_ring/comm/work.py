"""A submitted collective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class NativeWork(Protocol):
    """What is needed of the native module's ``Work``."""

    def wait(self, timeout_s: float | None = None) -> None: ...

    def done(self) -> bool: ...


class Work:
    """One collective under way. Keeps its buffers alive until it is done.

    Args:
        native: The native work.
        buffers: What must stay alive.
        finish: Called once after success, in the thread that notices it (copies a result back).
    """

    def __init__(
        self, native: NativeWork, buffers: Sequence[Any] = (), finish: Callable[[], None] | None = None
    ) -> None:
        self._native = native
        self._buffers = tuple(buffers)
        self._finish = finish

    def wait(self, timeout_s: float | None = None) -> None:
        """Blocks until the result is there.

        Ctrl-C is seen while waiting.

        Args:
            timeout_s: Longest wait, in seconds; the collective goes on when it passes.

        Raises:
            CollectiveError: The collective failed, and with it the communicator.
            TimeoutError: ``timeout_s`` passed first.
        """
        self._native.wait(timeout_s)
        self._conclude()

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Like :meth:`wait`; for work on a device it blocks the host too."""
        self.wait(timeout_s)

    def done(self) -> bool:
        """True once the result is there or the collective has failed (``wait`` tells which)."""
        if not self._native.done():
            return False
        try:
            self._native.wait(0)
        except Exception:  # noqa: BLE001 - `wait` raises it again to whoever asks for the result
            return True
        self._conclude()
        return True

    def is_idle(self) -> bool:
        """True once the native module no longer touches the buffers."""
        return self._native.done()

    def _conclude(self) -> None:
        finish, self._finish = self._finish, None
        if finish is not None:
            finish()
