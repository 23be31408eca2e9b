"""From the reports of all tasks to published datasets, or to one error that says all that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkdl_ring.data.manifest import DataFile, Dataset, digest_of
from sparkdl_ring.data.report import Report, faults, merge_measures, with_shapes
from sparkdl_ring.data.schema import ColumnSpec
from sparkdl_ring.data.spark_types import refusal
from sparkdl_ring.data.task import WriteTask
from sparkdl_ring.errors import EmptyDataError, StoreError
from sparkdl_ring.log import get_logger
from sparkdl_ring.store import layout

_LOG = get_logger(__name__)


@dataclass(frozen=True)
class Materialized:
    """What was written.

    Args:
        train: Rows to train on, at least one.
        validation: Rows kept apart, at least one; ``None`` when none were wanted or there were none.
    """

    train: Dataset
    validation: Dataset | None


def check(task: WriteTask, reports: Sequence[Report]) -> None:
    """Refuses data that cannot be used.

    Raises:
        StoreError: A task could not write.
        SchemaError: Nulls, or rows of different sizes; all faults are listed.
    """
    for report in reports:
        if report.error:
            raise StoreError(f"while materialising partition {report.partition}: {report.error}")
    nulls = sum(report.split_nulls for report in reports)
    found = faults(task.columns, merge_measures(reports, task.columns), task.split.column, nulls)
    if found:
        raise refusal(found)


def publish(task: WriteTask, reports: Sequence[Report]) -> Materialized:
    """Writes the manifests, the one of the training rows last.

    Args:
        task: What ran.
        reports: One a partition, in order, that :func:`check` let pass.

    Raises:
        EmptyDataError: There are no rows, or none to train on.
        StoreError: A manifest cannot be written.
    """
    columns = with_shapes(task.columns, merge_measures(reports, task.columns))
    train = _dataset(task, 0, columns, [report.train for report in reports])
    kept = _dataset(task, 1, columns, [report.validation for report in reports])
    if not train.rows:
        why = f"all {kept.rows} rows are kept for validation" if kept.rows else "the DataFrame has no rows"
        raise EmptyDataError(f"there is nothing to train on: {why}")
    if kept.rows:
        kept.save(task.store)
    elif task.split.validation is not None:
        _LOG.warning("no rows for validation: there will be no validation figures")
    train.save(task.store)
    _LOG.info("materialised %d rows to train on and %d to validate", train.rows, kept.rows)
    return Materialized(train, kept if kept.rows else None)


def _dataset(
    task: WriteTask, side: int, columns: tuple[ColumnSpec, ...], files: Sequence[DataFile | None]
) -> Dataset:
    kept = tuple(file for file in files if file is not None)
    folder = layout.dataset_dir(task.ids[side])
    for orphan in set(task.store.list(folder)) - {file.path[len(folder) + 1 :] for file in kept}:
        task.store.delete(f"{folder}/{orphan}")  # of a task attempt that failed or came second
    return Dataset(task.ids[side], columns, kept, digest_of(columns, kept))
