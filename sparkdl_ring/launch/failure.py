"""How one rank failed, in a form that reaches the driver whatever the exception was."""

from __future__ import annotations

import base64
import json
import re
import socket
import time
import traceback as tracebacks
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from sparkdl_ring.errors import (
    CollectiveError,
    CollectiveTimeoutError,
    MismatchError,
    RendezvousTimeoutError,
)
from sparkdl_ring.launch.exceptions import freeze, thaw

OWN, SILENCE, ECHO = "own", "silence", "echo"
_MAX_TEXT, _MAX_ERROR_BYTES = 20_000, 64_000
_MARK = re.compile(r"sparkdl_ring-failure:([A-Za-z0-9_=-]+):")


class RemoteError(RuntimeError):
    """Stands in for an exception that cannot be rebuilt here; its text is ``TypeName: message``."""


@dataclass(frozen=True)
class FailureRecord:
    """One rank's failure.

    Args:
        rank: The rank that failed.
        host: Its host.
        kind: ``own`` (its own fault), ``silence`` (it waited in vain for another) or ``echo`` (another died).
        blames: The other rank, where one is known.
        summary: ``TypeName: message``.
        traceback: Its traceback as text.
        error: The pickled exception, base64; empty when it cannot be pickled.
        seconds: Wall clock at the failure, seconds since 1970.
    """

    rank: int
    host: str
    kind: str
    blames: int | None
    summary: str
    traceback: str
    error: str
    seconds: float

    @classmethod
    def of(cls, error: BaseException, rank: int) -> FailureRecord:
        """The record of ``error`` raised on ``rank``, made in that rank."""
        kind, blames = classify(error, rank)
        text = "".join(tracebacks.format_exception(type(error), error, error.__traceback__))
        return cls(
            rank=rank,
            host=socket.gethostname(),
            kind=kind,
            blames=blames,
            summary=_cut(f"{type(error).__name__}: {error}"),
            traceback=_cut(text),
            error=base64.b64encode(freeze(error, _MAX_ERROR_BYTES)).decode("ascii"),
            seconds=time.time(),
        )

    def exception(self) -> BaseException:
        """The rank's own exception, or a :class:`RemoteError` with its text."""
        if self.error:
            try:
                return thaw(base64.b64decode(self.error))
            except Exception:  # noqa: BLE001 - its class may not exist here; the text still tells
                return RemoteError(self.summary)
        return RemoteError(self.summary)

    def encode(self) -> bytes:
        """The record as bytes."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> FailureRecord:
        """The inverse of :meth:`encode`."""
        return cls(**json.loads(data))

    def marked(self) -> str:
        """One line of text in which :func:`find` finds the record again, wherever it was quoted."""
        return f"sparkdl_ring-failure:{base64.urlsafe_b64encode(self.encode()).decode('ascii')}:"


def find(text: str) -> list[FailureRecord]:
    """All records inside a text, such as Spark's report of a failed stage."""
    found: dict[int, FailureRecord] = {}
    for mark in _MARK.findall(text):
        try:
            record = FailureRecord.decode(base64.urlsafe_b64decode(mark))
        except (TypeError, ValueError):  # cut off by whoever quoted it
            continue
        found.setdefault(record.rank, record)
    return list(found.values())


def classify(error: BaseException, rank: int) -> tuple[str, int | None]:
    """Whether ``error`` on ``rank`` is its own fault, and else which rank it blames.

    The whole chain of causes counts: users wrap our errors in theirs.
    """
    for link in _chain(error):
        if isinstance(link, MismatchError):
            return OWN, None
        if isinstance(link, CollectiveTimeoutError | RendezvousTimeoutError):
            return (SILENCE, link.rank) if link.rank != rank else (OWN, None)
        if isinstance(link, CollectiveError) and link.rank is not None and link.rank != rank:
            return ECHO, link.rank
    return OWN, None


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _cut(text: str) -> str:
    """At most ``_MAX_TEXT`` characters, the middle left out."""
    if len(text) <= _MAX_TEXT:
        return text
    half = _MAX_TEXT // 2
    return f"{text[:half]}\n... {len(text) - _MAX_TEXT} characters left out ...\n{text[-half:]}"
