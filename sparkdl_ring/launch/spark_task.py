"""The body of one barrier task."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sparkdl_ring.launch.device import granted_by_spark
from sparkdl_ring.launch.failure import ECHO, FailureRecord
from sparkdl_ring.launch.guard import die_with_parent, guard_this_process
from sparkdl_ring.launch.task import RankFailedError, TaskSpec, run_rank
from sparkdl_ring.rendezvous import BarrierRendezvous
from sparkdl_ring.rendezvous.barrier import nobody_known

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "rank int, part int, data binary"
CHUNK_BYTES = 2 << 20


class BarrierTaskFailedError(Exception):
    """Fails the Spark task. The text carries the record, for drivers that cannot see the board."""

    def __init__(self, record: FailureRecord) -> None:
        super().__init__(f"rank {record.rank}: {record.summary}\n{record.marked()}")


def barrier_task(spec: TaskSpec, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Plays the rank of this task and gives its result in rows.

    ``rows`` is left unread on purpose: Spark then starts the next task in a fresh Python worker, so that
    nothing the user's function left behind (environment, random state, imported modules) leaks into it.
    """
    from pyspark import BarrierTaskContext

    die_with_parent()
    guard_this_process()
    context = BarrierTaskContext.get()
    arrived = nobody_known if spec.board is None else spec.board.arrived
    try:
        result = run_rank(spec, BarrierRendezvous(context, arrived), granted_by_spark(context))
    except RankFailedError as failed:
        _let_first_cause_pass(failed.record, spec)
        raise BarrierTaskFailedError(failed.record) from failed.__cause__
    yield from result_rows(context.partitionId(), result)


def result_rows(rank: int, result: bytes) -> Iterator[pa.RecordBatch]:
    """The result in chunks that fit Spark's messages, at least one."""
    import pyarrow as pa

    for part, start in enumerate(range(0, max(1, len(result)), CHUNK_BYTES)):
        columns: dict[str, Any] = {
            "rank": pa.array([rank], pa.int32()),
            "part": pa.array([part], pa.int32()),
            "data": pa.array([result[start : start + CHUNK_BYTES]], pa.binary()),
        }
        yield pa.RecordBatch.from_pydict(columns)


def _let_first_cause_pass(record: FailureRecord, spec: TaskSpec) -> None:
    """Spark reports the first task that fails and kills the others: an echo lets the dead rank be it."""
    if record.kind == ECHO:
        time.sleep(spec.config.launch.grace_s)
