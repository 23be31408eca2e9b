"""The package's logger: rank and host in every line."""

from __future__ import annotations

import logging
import socket

_HOST = socket.gethostname()


class _Prefix(logging.LoggerAdapter[logging.Logger]):
    """Puts ``[rank r/size host]`` before each message once a task knows its place."""

    rank: int | None = None
    size: int | None = None

    def process(self, msg: str, kwargs: object) -> tuple[str, object]:  # type: ignore[override]
        if _Prefix.rank is None:
            return msg, kwargs
        return f"[rank {_Prefix.rank}/{_Prefix.size} {_HOST}] {msg}", kwargs


def get_logger(name: str) -> logging.LoggerAdapter[logging.Logger]:
    """Returns the logger of a module; it follows the standard ``logging`` configuration."""
    return _Prefix(logging.getLogger(name), {})


def place() -> tuple[int, int] | None:
    """Rank and size of this process once a launcher has told it, also before the ranks have met."""
    if _Prefix.rank is None or _Prefix.size is None:
        return None
    return _Prefix.rank, _Prefix.size


def set_place(rank: int | None, size: int | None) -> None:
    """Sets (or with ``None`` clears) the rank and size shown in each line of this process."""
    _Prefix.rank = rank
    _Prefix.size = size
