"""One Spark action in a helper thread, so that the caller can be interrupted and the job with it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sparkdl_ring.log import get_logger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = get_logger(__name__)
_CANCEL_S = 4.0


class JobFailedError(Exception):
    """Carries what a Spark action raised, apart from what the caller's own code raises."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class SparkJob:
    """Runs ``action`` under a job tag of its own.

    On classic Spark Ctrl-C does not stop a job that the main thread waits for; here the main thread waits for
    an event, and whatever interrupts it cancels the tag.

    Args:
        spark: The session, classic or Connect.
        action: The action; it starts the job when called.
    """

    def __init__(self, spark: SparkSession, action: Callable[[], Any]) -> None:
        from pyspark import InheritableThread

        self._spark = spark
        self._action = action
        self._tag = f"sparkdl-ring-{secrets.token_hex(8)}"
        self._done = threading.Event()
        self._answer: Any = None
        self._error: BaseException | None = None
        self._thread = InheritableThread(target=self._work, session=spark, name="ring-spark-job", daemon=True)

    def run(self, on_poll: Callable[[], None] | None, poll_s: float) -> Any:
        """Starts the action and returns what it returns.

        Args:
            on_poll: Called in this thread about every ``poll_s``.
            poll_s: Seconds.

        Raises:
            JobFailedError: The action raised.
        """
        self._thread.start()
        try:
            while not self._done.wait(poll_s):
                if on_poll is not None:
                    on_poll()
        except BaseException:
            self._cancel()
            raise
        self._thread.join()
        if self._error is not None:
            raise JobFailedError(self._error)
        return self._answer

    def _work(self) -> None:
        try:
            self._spark.addTag(self._tag)
            self._answer = self._action()
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            self._error = error
        finally:
            self._done.set()

    def _cancel(self) -> None:
        try:
            self._spark.interruptTag(self._tag)
        except Exception as error:  # noqa: BLE001 - the interruption itself is what the caller must see
            _log.warning("the Spark job with tag %s could not be cancelled: %s", self._tag, error)
        if not self._done.wait(_CANCEL_S):
            _log.warning("the Spark job with tag %s has not ended yet", self._tag)
