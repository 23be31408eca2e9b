"""Exceptions as bytes: type, text, attributes and chain of causes, whatever their constructor asks for."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cloudpickle

_MAX_LINKS = 8


@dataclass(frozen=True)
class _Parts:
    """What an exception consists of, for classes whose constructor does not take its own ``args``."""

    cls: type[BaseException]
    args: tuple[Any, ...]
    state: dict[str, Any]

    def rebuild(self) -> BaseException:
        error = self.cls.__new__(self.cls)
        error.args = self.args
        error.__dict__.update(self.state)
        return error


def freeze(error: BaseException, max_bytes: int) -> bytes:
    """The exception and its causes as bytes that are known to load again.

    Args:
        error: The exception.
        max_bytes: Bound of the result; causes are left out first.

    Returns:
        Empty when not even the exception itself can be pickled.
    """
    links = [_link(item) for item in _causes(error)]
    known = links[: links.index(b"")] if b"" in links else links
    while known:
        data = pickle.dumps(known)
        if len(data) <= max_bytes:
            return data
        known.pop()
    return b""


def thaw(data: bytes) -> BaseException:
    """The inverse of :func:`freeze`; ``__cause__`` links the chain."""
    links = [_load(item) for item in pickle.loads(data)]
    for error, cause in pairwise(links):
        error.__cause__ = cause
    return links[0]


def _causes(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(_MAX_LINKS):
        if link is None:
            return
        yield link
        link = link.__cause__


def _link(error: BaseException) -> bytes:
    state = dict(error.__dict__)
    for form in (error, _Parts(type(error), error.args, state), _Parts(type(error), (str(error),), {})):
        try:
            data = bytes(cloudpickle.dumps(form))
            copy = _load(data)
            if type(copy).__name__ == type(error).__name__ and str(copy) == str(error):
                return data
        except Exception:  # noqa: BLE001 - any class may refuse; the next form asks less of it
            continue
    return b""


def _load(data: bytes) -> BaseException:
    loaded = pickle.loads(data)
    error = loaded.rebuild() if isinstance(loaded, _Parts) else loaded
    if not isinstance(error, BaseException):
        raise TypeError(f"{type(error).__name__} is no exception")
    return error
