"""What a failed read or write means, and what the user can do about it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from sparkdl_ring.errors import RingError, StoreError

_ADVICE = {
    errno.ENOSPC: "no space is left: free some or choose another store",
    errno.EDQUOT: "the quota is used up: free some space or choose another store",
    errno.EFBIG: "the file would be larger than this system allows",
    errno.EROFS: "the file system is read-only: choose another store",
    errno.EACCES: "permission denied: check the rights of this user, also on the executors",
    errno.EPERM: "permission denied: check the rights of this user, also on the executors",
    errno.ENOENT: "it does not exist: check the URL, and that every host sees the same folder",
    errno.EEXIST: "a file is in the way: a part of the path is no folder",
    errno.ENOTDIR: "a file is in the way: a part of the path is no folder",
    errno.EISDIR: "it is a folder, not a file",
}


@contextmanager
def naming(url: str, action: str, *, remote: bool = False) -> Iterator[None]:
    """Turns what the block raises into a :class:`StoreError` that names the URL and what to do.

    Args:
        url: The URL at work.
        action: The verb for the message, such as ``"read"``.
        remote: Whether any exception counts: clients of object stores raise their own kinds.

    Raises:
        StoreError: The block raised an ``OSError``, or anything when ``remote``.
    """
    try:
        yield
    except RingError:
        raise
    except OSError as error:
        raise StoreError(explain(url, action, error)) from error
    except Exception as error:
        if not remote:
            raise
        raise StoreError(explain(url, action, error)) from error


def explain(url: str, action: str, error: Exception) -> str:
    """The message of a failure: action, URL, reason, advice."""
    advice = _ADVICE.get(_number(error) or -1, "check the URL, the network and the credentials")
    reason = getattr(error, "strerror", None) or str(error) or "no reason given"
    return f"cannot {action} {url}: {advice} ({type(error).__name__}: {reason})"


def _number(error: Exception) -> int | None:
    number = getattr(error, "errno", None)
    if isinstance(number, int):
        return number
    if isinstance(error, FileNotFoundError):  # fsspec raises these without a number
        return errno.ENOENT
    return errno.EACCES if isinstance(error, PermissionError) else None
