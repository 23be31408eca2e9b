"""Work done behind the caller's back, in order, by one thread: a slow server never holds up a job.

The thread is owned by the queue, starts with the first task and ends in :meth:`close`.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from sparkdl_ring.log import get_logger

_log = get_logger(__name__)

Task = Callable[[], None]


class BackgroundQueue:
    """First in, first out; what does not fit or fails is counted as lost.

    Args:
        name: Name of the thread.
        capacity: Tasks that may wait; more are dropped.
    """

    def __init__(self, name: str, capacity: int = 1000) -> None:
        self._name = name
        self._tasks: queue.Queue[tuple[str, Task] | None] = queue.Queue(capacity)
        self._thread: threading.Thread | None = None
        self._dropped = 0

    def submit(self, what: str, task: Task) -> None:
        """Adds a task; never blocks, never raises.

        Args:
            what: What is being done, for the warning when it fails.
            task: Called without arguments by the queue's thread.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        try:
            self._tasks.put_nowait((what, task))
        except queue.Full:
            self._dropped += 1

    def drain(self, timeout_s: float) -> bool:
        """Waits until all tasks so far are done; False when ``timeout_s`` passes first."""
        done = threading.Event()
        if self._thread is None:
            return True
        deadline = time.monotonic() + timeout_s
        try:
            self._tasks.put(("", done.set), timeout=timeout_s)
        except queue.Full:
            return False
        return done.wait(max(0.0, deadline - time.monotonic()))

    def close(self, timeout_s: float) -> int:
        """Waits for what is queued, then ends the thread.

        Returns:
            The number of tasks dropped or not done in time; the thread leaves after its current one.
        """
        drained = self.drain(timeout_s)
        waiting = 0 if drained else self._discard()
        if self._thread is not None:
            self._tasks.put_nowait(None)
            self._thread.join(timeout_s if drained else 0.0)
            self._thread = None
        lost, self._dropped = self._dropped + waiting, 0
        return lost

    def _discard(self) -> int:
        lost = 1  # the task that is being worked on and did not come back in time
        while True:
            try:
                item = self._tasks.get_nowait()
            except queue.Empty:
                return lost
            lost += item is not None and bool(item[0])

    def _work(self) -> None:
        while (item := self._tasks.get()) is not None:
            what, task = item
            try:
                task()
            except Exception as error:  # noqa: BLE001 - tasks are a tracker's calls, which raise anything
                _log.warning("tracking: could not %s: %s", what, error)
