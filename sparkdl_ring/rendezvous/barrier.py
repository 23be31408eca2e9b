"""Meeting over Spark's barrier ``allGather``. The barrier context is passed in: no Spark is imported here."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from sparkdl_ring.errors import RendezvousError, RendezvousTimeoutError
from sparkdl_ring.rendezvous.addresses import strip_port


class BarrierContext(Protocol):
    """What is needed of ``pyspark.BarrierTaskContext``."""

    def partitionId(self) -> int: ...  # noqa: N802 - Spark's name

    def getTaskInfos(self) -> Sequence[Any]: ...  # noqa: N802 - Spark's name

    def allGather(self, message: str = "") -> Sequence[str]: ...  # noqa: N802 - Spark's name


def nobody_known() -> Iterable[int]:
    """The roll call where arrivals are not recorded."""
    return ()


class BarrierRendezvous:
    """One ``allGather`` (about 0.9 s whatever its size) under a deadline.

    Args:
        context: Spark's barrier task context.
        roll_call: Returns the ranks known to have arrived; asked only after a time-out, to name the missing.
    """

    def __init__(
        self, context: BarrierContext, roll_call: Callable[[], Iterable[int]] = nobody_known
    ) -> None:
        self._context = context
        self._roll_call = roll_call
        self._addresses = [strip_port(info.address) for info in context.getTaskInfos()]

    @property
    def rank(self) -> int:
        return self._context.partitionId()

    @property
    def size(self) -> int:
        return len(self._addresses)

    @property
    def peers(self) -> tuple[str, ...]:
        return tuple(a for rank, a in enumerate(self._addresses) if rank != self.rank)

    def exchange(self, payload: bytes, timeout_s: float) -> list[bytes]:
        messages = self._gather(base64.b64encode(payload).decode("ascii"), timeout_s)
        if len(messages) != self.size:
            raise RendezvousError(
                f"rank {self.rank}: {len(messages)} tasks met where {self.size} were expected: "
                "the number of partitions of the barrier stage was changed"
            )
        return [base64.b64decode(message) for message in messages]

    def _gather(self, message: str, timeout_s: float) -> list[str]:
        """Spark's call has no deadline, so it runs in a thread that is left behind when time is up."""
        answers: list[list[str]] = []
        failures: list[BaseException] = []
        done = threading.Event()

        def call() -> None:
            try:
                answers.append(list(self._context.allGather(message)))
            except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
                failures.append(error)
            finally:
                done.set()

        threading.Thread(target=call, name="ring-allgather", daemon=True).start()
        if not done.wait(timeout_s):
            raise self._timeout(timeout_s)
        if failures:
            raise RendezvousError(f"rank {self.rank}: Spark's allGather failed: {failures[0]}") from failures[
                0
            ]
        return answers[0]

    def _timeout(self, timeout_s: float) -> RendezvousTimeoutError:
        arrived = set(self._roll_call())
        missing = tuple(r for r in range(self.size) if r not in arrived) if arrived else ()
        return RendezvousTimeoutError(missing_text(missing, self.size, timeout_s), missing=missing)


def missing_text(missing: Sequence[int], size: int, timeout_s: float) -> str:
    """The message of a time-out."""
    who = f"rank(s) {', '.join(map(str, missing))} of {size}" if missing else f"some of the {size} ranks"
    return (
        f"{who} did not come to the rendezvous within {timeout_s:g} s. See the log of the missing task; "
        "raise comm.connect_timeout_s if tasks need longer to start"
    )
