"""One Spark action in a helper thread, so that the caller can be interrupted and the job with it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparkdl_ring.log import get_logger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = get_logger(__name__)
_CANCEL_S = 4.0


@dataclass(frozen=True)
class Outcome:
    """How the action ended.

    Args:
        answer: What it returned.
        error: What it raised, or ``None``.
    """

    answer: Any = None
    error: BaseException | None = None


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

        self._tags = _tags_of(spark)
        self._action = action
        self._tag = f"sparkdl-ring-{secrets.token_hex(8)}"
        self._done = threading.Event()
        self._outcome = Outcome()
        self._thread = InheritableThread(target=self._work, session=spark, name="ring-spark-job", daemon=True)

    def run(self, on_poll: Callable[[], None] | None, poll_s: float) -> Outcome:
        """Starts the action and waits for it; what this thread itself raises cancels the job.

        Args:
            on_poll: Called in this thread about every ``poll_s``.
            poll_s: Seconds.
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
        return self._outcome

    def _work(self) -> None:
        try:
            self._tags.add(self._tag)
            self._outcome = Outcome(answer=self._action())
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            self._outcome = Outcome(error=error)
        finally:
            with suppress(Exception):  # the session may have been stopped meanwhile
                self._tags.remove(self._tag)
            self._done.set()

    def _cancel(self) -> None:
        try:
            self._tags.cancel(self._tag)
        except Exception as error:  # noqa: BLE001 - the interruption itself is what the caller must see
            _log.warning("the Spark job with tag %s could not be cancelled: %s", self._tag, error)
        if not self._done.wait(_CANCEL_S):
            _log.warning("the Spark job with tag %s has not ended yet", self._tag)


def is_connect(spark: SparkSession) -> bool:
    """True for a Spark Connect session, which has no SparkContext."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


@dataclass(frozen=True)
class _Tags:
    """Marks the jobs that the calling thread starts; a mark can be cancelled from any thread."""

    add: Callable[[str], Any]
    remove: Callable[[str], Any]
    cancel: Callable[[str], Any]


def _tags_of(spark: SparkSession) -> _Tags:
    """On classic Spark it is the context that is tagged, not the session (seen in 4.3).

    A tag on the session makes the session, and with it every Spark ML model that remembers its training
    summary, impossible to serialize for good; and ``interruptTag`` finds only tags of the calling thread.
    """
    if is_connect(spark):
        return _Tags(spark.addTag, spark.removeTag, spark.interruptTag)
    context = spark.sparkContext
    return _Tags(context.addJobTag, context.removeJobTag, context.cancelJobsWithTag)
