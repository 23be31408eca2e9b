"""The communicator of this process: the one process-wide slot of the package."""

from __future__ import annotations

import atexit
import threading

from sparkdl_ring.comm.communicator import Communicator
from sparkdl_ring.comm.connect import alone

_lock = threading.Lock()
_current: Communicator | None = None
_alone: Communicator | None = None


def set_current(comm: Communicator) -> None:
    """Makes ``comm`` the communicator of this process; launchers call it before the user's function."""
    global _current
    with _lock:
        _current = comm


def current() -> Communicator:
    """The communicator of this process; one of size 1 when nobody launched it."""
    global _alone
    with _lock:
        if _current is not None:
            return _current
        if _alone is None:
            _alone = alone()
            atexit.register(_alone.close)
        return _alone


def clear() -> None:
    """Forgets the communicator that :func:`set_current` set; it is not closed."""
    global _current
    with _lock:
        _current = None


def rank() -> int:
    """Own rank; 0 when nobody launched this process."""
    return _current.rank if _current is not None else 0


def size() -> int:
    """Number of ranks; 1 when nobody launched this process."""
    return _current.size if _current is not None else 1
