"""DataFrame -> Parquet files and a manifest in the store, in one Spark job.

Each task writes its rows with pyarrow straight to the store and reports; the driver checks all reports
together and writes the manifest last. Works on Spark Connect, since only DataFrame calls are used.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data.manifest import Dataset, digest_of
from sparkdl_ring.data.options import Split
from sparkdl_ring.data.report import Report, faults, merge_measures, with_shapes
from sparkdl_ring.data.schema import ColumnSpec
from sparkdl_ring.data.spark_types import check_columns, position, refusal
from sparkdl_ring.data.split import Pin, Splitter, pin_for
from sparkdl_ring.data.writer import PartitionWriter
from sparkdl_ring.errors import ConfigError, EmptyDataError, StoreError
from sparkdl_ring.log import get_logger
from sparkdl_ring.store import Store, layout

_LOG = get_logger(__name__)


@dataclass(frozen=True)
class Materialized:
    """What :func:`materialize` wrote.

    Args:
        train: Rows to train on, at least one.
        validation: Rows kept apart, at least one; ``None`` when none were wanted or there were none.
    """

    train: Dataset
    validation: Dataset | None


@dataclass(frozen=True)
class WriteTask:
    """The function that runs in each Spark task.

    Args:
        store: Where to.
        folders: Folder of training files and of validation files.
        columns: The wanted columns, as far as the schema tells.
        split: Which rows are kept apart.
        config: Sizes of row groups.
        pin: A row whose side is fixed.
    """

    store: Store
    folders: tuple[str, str]
    columns: tuple[ColumnSpec, ...]
    split: Split
    config: DataConfig
    pin: Pin | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes one partition and yields its report."""
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        splitter = Splitter(self.split, partition, self.pin)
        writer = PartitionWriter(self.store, self.folders, self.columns, splitter, self.config)
        try:
            report = writer.write(partition, batches)
        except StoreError as error:  # goes to the driver as a value, so that it is raised there as itself
            report = Report(partition, error=str(error))
        yield pa.RecordBatch.from_pydict({"report": [report.to_json()]})


def materialize(
    df: Any,
    store: Store,
    *,
    columns: Sequence[str],
    split: Split | None = None,
    config: DataConfig | None = None,
    num_partitions: int | None = None,
    dataset_id: str | None = None,
) -> Materialized:
    """Writes the wanted columns of a DataFrame to the store.

    Args:
        df: A DataFrame of classic Spark or Spark Connect.
        store: Where to; must be writable from the driver and all executors.
        columns: Names of the wanted columns, any spelling, matched literally.
        split: Which rows are kept apart for validation; default none.
        config: Sizes of row groups.
        num_partitions: Repartition to so many first; ``None`` takes the partitions as they are, and rows keep
            their order.
        dataset_id: Name of the dataset; default a new one.

    Returns:
        The datasets, published.

    Raises:
        SchemaError: Columns are missing, of types that cannot be used, with nulls, or with rows of different
            sizes; all faults are listed. Nothing is left in the store.
        EmptyDataError: There are no rows, or none to train on.
        StoreError: The store cannot be written; the message says why.
    """
    split, config = split or Split(), config or DataConfig()
    specs = check_columns(df.schema, columns, split)
    name = dataset_id or f"data-{uuid.uuid4().hex[:16]}"
    ids = (name, f"{name}.validation")
    if store.exists(layout.manifest_path(name)):
        raise ConfigError(f"dataset {name!r} is already in {store.url}: choose another dataset_id")
    store.check_writable()
    folders = (layout.dataset_dir(ids[0]), layout.dataset_dir(ids[1]))
    frame = _wanted(df, specs, split, num_partitions)
    try:
        reports = _write(frame, WriteTask(store, folders, specs, split, config))
        return _publish(store, ids, specs, reports)
    except BaseException:
        for folder in folders:
            store.delete(folder, recursive=True)
        raise


def _wanted(df: Any, specs: Sequence[ColumnSpec], split: Split, num_partitions: int | None) -> Any:
    """The wanted columns, chosen by position: no spelling of a name can confuse."""
    names = [spec.name for spec in specs] + ([split.column] if split.column is not None else [])
    picks = [f"c{position(df.schema, name)}" for name in names]
    renamed = df.toDF(*(f"c{index}" for index in range(len(df.schema.fields))))
    frame = renamed.selectExpr(*(f"{pick} AS w{index}" for index, pick in enumerate(picks)))
    return frame if num_partitions is None else frame.repartition(num_partitions)


def _write(frame: Any, task: WriteTask) -> list[Report]:
    reports = _run(frame, task)
    pin = pin_for(task.split, {r.partition: r.rows for r in reports}, _rows(reports, "validation"))
    if pin is None:
        return reports
    for folder in task.folders:
        task.store.delete(folder, recursive=True)
    return _run(frame, replace(task, pin=pin))  # few rows: writing them again costs little


def _run(frame: Any, task: WriteTask) -> list[Report]:
    rows = frame.mapInArrow(task, "report string").collect()
    reports = sorted((Report.from_json(row["report"]) for row in rows), key=lambda report: report.partition)
    for report in reports:
        if report.error:
            raise StoreError(f"while materialising partition {report.partition}: {report.error}")
    found = faults(
        task.columns,
        merge_measures(reports, task.columns),
        task.split.column,
        sum(report.split_nulls for report in reports),
    )
    if found:
        raise refusal(found)
    return reports


def _rows(reports: Sequence[Report], side: str) -> int:
    return sum(file.rows for report in reports if (file := getattr(report, side)) is not None)


def _publish(
    store: Store, ids: tuple[str, str], specs: Sequence[ColumnSpec], reports: Sequence[Report]
) -> Materialized:
    rows, kept = _rows(reports, "train"), _rows(reports, "validation")
    if not rows:
        why = f"all {kept} rows are kept for validation" if kept else "the DataFrame has no rows"
        raise EmptyDataError(f"there is nothing to train on: {why}")
    columns = with_shapes(specs, merge_measures(reports, specs))
    train = _dataset(store, ids[0], columns, [r.train for r in reports])
    validation = _dataset(store, ids[1], columns, [r.validation for r in reports]) if kept else None
    if validation is not None:
        validation.save(store)
    train.save(store)  # last: with it the whole is there
    _LOG.info("materialised %d rows to train on and %d to validate, %d bytes", rows, kept, train.bytes)
    return Materialized(train, validation)


def _dataset(store: Store, name: str, columns: tuple[ColumnSpec, ...], files: Sequence[Any]) -> Dataset:
    kept = tuple(file for file in files if file is not None)
    folder = layout.dataset_dir(name)
    for orphan in set(store.list(folder)) - {file.path[len(folder) + 1 :] for file in kept}:
        store.delete(f"{folder}/{orphan}")  # of a task attempt that failed or came second
    return Dataset(name, columns, kept, digest_of(columns, kept))
