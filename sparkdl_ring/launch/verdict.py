"""Which failure came first: pure decisions over what the ranks told and how their processes ended."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sparkdl_ring.errors import TaskFailedError
from sparkdl_ring.launch.failure import ECHO, OWN, SILENCE, FailureRecord


@dataclass(frozen=True)
class Death:
    """A process that ended without telling why.

    Args:
        rank: Its rank.
        how: ``was killed by signal 9 (SIGKILL)``, ``exited with code 3``.
        host: Its host, where known.
        seconds: Wall clock at which it was noticed, seconds since 1970.
        output: The last lines it wrote.
    """

    rank: int
    how: str
    host: str | None = None
    seconds: float = 0.0
    output: str = ""


def how_ended(code: int) -> str:
    """The end of a process in words, from ``subprocess``'s return code."""
    if code >= 0:
        return f"exited with code {code} and gave no result"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    hint = "; the kernel does this when memory runs out" if -code == signal.SIGKILL else ""
    return f"was killed by signal {-code} ({name}){hint}"


def accused(records: Sequence[FailureRecord]) -> set[int]:
    """Ranks that others waited for in vain and that said nothing themselves."""
    return {r.blames for r in records if r.kind == SILENCE and r.blames is not None} - {
        r.rank for r in records
    }


def first_cause(records: Sequence[FailureRecord], deaths: Sequence[Death]) -> TaskFailedError | None:
    """The error to raise on the driver, its cause chained; ``None`` when nothing is known.

    A rank's own exception and a process that ended by itself come first, the earliest of them; then a rank
    that stopped answering, then a rank that others saw dying.
    """
    spoken = {record.rank for record in records}
    silent_deaths = [death for death in deaths if death.rank not in spoken]
    firsts: list[tuple[float, FailureRecord | Death]] = [
        *((r.seconds, r) for r in records if r.kind == OWN),
        *((d.seconds, d) for d in silent_deaths),
    ]
    if firsts:
        _, first = min(firsts, key=lambda item: item[0])
        if isinstance(first, FailureRecord):
            return _own_failure(first)
        return _died(first, _blaming(records, first.rank))
    for kind, words in ((SILENCE, "stopped answering"), (ECHO, "was lost")):
        found = [record for record in records if record.kind == kind]
        if found:
            return _blamed(found, words)
    return None


def _own_failure(record: FailureRecord) -> TaskFailedError:
    return _error(
        f"rank {record.rank} on host {record.host} failed: {record.summary}\n\n{record.traceback}".rstrip(),
        record.rank,
        record.host,
        record,
    )


def _died(death: Death, witness: FailureRecord | None) -> TaskFailedError:
    where = f" on host {death.host}" if death.host else ""
    tail = f"\nIts last output:\n{death.output}" if death.output else ""
    return _error(f"rank {death.rank}{where} {death.how}{tail}", death.rank, death.host, witness)


def _blamed(records: Sequence[FailureRecord], words: str) -> TaskFailedError:
    """Names the rank that most others blame."""
    votes = Counter(record.blames for record in records if record.blames is not None)
    if not votes:
        return _own_failure(min(records, key=lambda record: record.seconds))
    rank = min(votes, key=lambda blamed: (-votes[blamed], blamed))
    witness = min((r for r in records if r.blames == rank), key=lambda record: record.seconds)
    host = getattr(witness.exception(), "host", None)
    where = f" on host {host}" if host else ""
    text = f"rank {rank}{where} {words}, says rank {witness.rank}: {witness.summary}"
    return _error(text, rank, host, witness)


def _blaming(records: Sequence[FailureRecord], rank: int) -> FailureRecord | None:
    return min((r for r in records if r.blames == rank), key=lambda record: record.seconds, default=None)


def _error(text: str, rank: int, host: str | None, witness: FailureRecord | None) -> TaskFailedError:
    error = TaskFailedError(
        text, rank=rank, host=host, remote_traceback=witness.traceback if witness is not None else ""
    )
    error.__cause__ = witness.exception() if witness is not None else None
    return error
