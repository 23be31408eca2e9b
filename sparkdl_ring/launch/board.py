"""A folder in a store where tasks leave arrival marks and failure records for the driver and each other."""

from __future__ import annotations

from dataclasses import dataclass

from sparkdl_ring.errors import StoreError
from sparkdl_ring.launch.failure import FailureRecord
from sparkdl_ring.log import get_logger
from sparkdl_ring.store import Store

_log = get_logger(__name__)
_OPEN = "open"


@dataclass(frozen=True)
class Board:
    """Marks of one launch. A store that fails costs names in messages, never the run.

    Args:
        store: Where it lies; every task can write there.
        path: Its folder, one for each launch.
        brief: The driver removes the folder when the launch is over; a rank that ends later than that leaves
            nothing, since its mark would bring the folder back for good.
    """

    store: Store
    path: str
    brief: bool = False

    def open(self) -> None:
        """Allows marks on a brief board; the driver calls it before tasks start."""
        self.store.write(f"{self.path}/{_OPEN}", b"")

    def arrive(self, rank: int) -> None:
        """Leaves a mark: ``rank`` is about to meet the others."""
        self._write(f"arrived/{rank}", b"")

    def arrived(self) -> set[int]:
        """Ranks that left a mark."""
        return {int(name) for name in self._names("arrived")}

    def report(self, record: FailureRecord) -> None:
        """Leaves the record of a failure."""
        self._write(f"failed/{record.rank}", record.encode())

    def failures(self) -> list[FailureRecord]:
        """All records left so far, by rank."""
        found = []
        for name in sorted(self._names("failed"), key=int):
            try:
                found.append(FailureRecord.decode(self.store.read(f"{self.path}/failed/{name}")))
            except (StoreError, TypeError, ValueError) as error:
                _log.warning("the failure record of rank %s cannot be read: %s", name, error)
        return found

    def _write(self, name: str, data: bytes) -> None:
        try:
            if not self.brief or self.store.exists(f"{self.path}/{_OPEN}"):
                self.store.write(f"{self.path}/{name}", data)
        except StoreError as error:
            _log.warning("cannot leave a mark for the driver: %s", error)

    def _names(self, folder: str) -> list[str]:
        try:
            return self.store.list(f"{self.path}/{folder}")
        except StoreError as error:
            _log.warning("cannot read the tasks' marks: %s", error)
            return []
