"""The whole exception tree.

::

    RingError
    |-- ConfigError (also ValueError)          a setting or argument is wrong
    |-- MissingDependencyError (ImportError)   an extra is not installed
    |-- LaunchError
    |   |-- NotEnoughTasksError                fewer slots than tasks asked for
    |   `-- TaskFailedError                    a rank failed; __cause__ is its own exception
    |-- RendezvousError                        ranks could not meet or trust each other
    |   `-- RendezvousTimeoutError             (TimeoutError) a rank never came
    |-- CollectiveError                        the communicator is dead: build a new one
    |   |-- PeerLostError                      a peer died or left
    |   |-- CollectiveTimeoutError             (TimeoutError) a peer stopped answering
    |   `-- MismatchError                      ranks called different collectives
    |-- DataError
    |   |-- SchemaError (ValueError)           a column is missing or of a type that cannot be used
    |   |-- EmptyDataError (ValueError)        no rows to train on
    |   |-- ShortReadError                     fewer rows read than the footer promises
    |   `-- StoreError (OSError)               the store cannot be read or written
    |-- CheckpointError
    |   `-- CheckpointCorruptError             bytes do not match the checksum
    `-- TrackingError                          logged, never fatal

Every message says what happened, on which rank and host where that is known, and what to do.
All classes pickle with their attributes, so that they cross processes unchanged.
"""

from __future__ import annotations

from typing import Any


class RingError(Exception):
    """Base of all errors of this package.

    Args:
        message: What happened and what to do.
        rank: The rank to blame, where one is known.
        host: The host of that rank.
    """

    def __init__(self, message: str, *, rank: int | None = None, host: str | None = None) -> None:
        super().__init__(message)
        self.rank = rank
        self.host = host

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.args, dict(self.__dict__)))


def _rebuild(cls: type[RingError], args: tuple[Any, ...], state: dict[str, Any]) -> RingError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class ConfigError(RingError, ValueError):
    """A setting or argument is wrong."""


class MissingDependencyError(RingError, ImportError):
    """A package is not installed; the message names the extra that brings it."""


class LaunchError(RingError):
    """Tasks could not be started or did not end as they should."""


class NotEnoughTasksError(LaunchError):
    """Fewer slots than tasks asked for."""


class TaskFailedError(LaunchError):
    """A rank failed; ``__cause__`` is its own exception, ``remote_traceback`` its own traceback text."""

    def __init__(
        self,
        message: str,
        *,
        rank: int | None = None,
        host: str | None = None,
        remote_traceback: str = "",
    ) -> None:
        super().__init__(message, rank=rank, host=host)
        self.remote_traceback = remote_traceback


class RendezvousError(RingError):
    """Ranks could not meet or did not trust each other."""


class RendezvousTimeoutError(RendezvousError, TimeoutError):
    """A rank did not come in time; ``missing`` lists the ranks where known."""

    def __init__(
        self,
        message: str,
        *,
        missing: tuple[int, ...] = (),
        rank: int | None = None,
        host: str | None = None,
    ) -> None:
        super().__init__(message, rank=missing[0] if missing and rank is None else rank, host=host)
        self.missing = missing


class CollectiveError(RingError):
    """A collective failed; ``rank`` is the rank to blame. The communicator is dead: build a new one."""


class PeerLostError(CollectiveError):
    """A peer died or left while others needed it."""


class CollectiveTimeoutError(CollectiveError, TimeoutError):
    """A peer did not answer before the deadline."""


class MismatchError(CollectiveError):
    """Two ranks called different collectives (operation, dtype, count, shape, root)."""


class DataError(RingError):
    """The training data cannot be used; the message names file and column."""


class SchemaError(DataError, ValueError):
    """A column is missing, or its type or shape cannot be used."""


class EmptyDataError(DataError, ValueError):
    """There are no rows to train on."""


class ShortReadError(DataError):
    """A reader gave fewer or more rows than the Parquet footer promises."""


class StoreError(DataError, OSError):
    """The store cannot be read or written."""


class CheckpointError(RingError):
    """A checkpoint cannot be written or read."""


class CheckpointCorruptError(CheckpointError):
    """The bytes of a checkpoint do not match its checksum."""


class TrackingError(RingError):
    """A run could not be recorded; logged as a warning, never fatal."""
