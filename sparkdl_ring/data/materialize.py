"""DataFrame -> Parquet files and a manifest in the store, in one Spark job.

Each task writes its rows with pyarrow straight to the store and reports; the driver checks all reports
together and writes the manifest last. Works on Spark Connect, since only DataFrame calls are used.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data.options import Split
from sparkdl_ring.data.publish import Materialized, check, publish
from sparkdl_ring.data.report import Report
from sparkdl_ring.data.spark_types import check_columns, position
from sparkdl_ring.data.split import pin_for
from sparkdl_ring.data.task import WriteTask
from sparkdl_ring.errors import ConfigError, StoreError
from sparkdl_ring.store import Store, layout


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
    split = split or Split()
    specs = check_columns(df.schema, columns, split)
    name = dataset_id or f"data-{uuid.uuid4().hex[:16]}"
    task = WriteTask(store, name, specs, split, config or DataConfig())
    if store.exists(layout.manifest_path(name)):
        raise ConfigError(f"dataset {name!r} is already in {store.url}: choose another dataset_id")
    store.check_writable()
    frame = _wanted(df, task)
    if num_partitions is not None:
        frame = frame.repartition(num_partitions)
    try:
        return publish(task, _write(frame, task))
    except BaseException:
        with suppress(StoreError):  # the first error counts
            task.discard()
        raise


def _wanted(df: Any, task: WriteTask) -> Any:
    """The wanted columns, chosen by position: no spelling of a name can confuse."""
    names = [spec.name for spec in task.columns]
    if task.split.column is not None:
        names.append(task.split.column)
    picks = [f"c{position(df.schema, name)}" for name in names]
    renamed = df.toDF(*(f"c{index}" for index in range(len(df.schema.fields))))
    return renamed.selectExpr(*(f"{pick} AS w{index}" for index, pick in enumerate(picks)))


def _write(frame: Any, task: WriteTask) -> list[Report]:
    reports = _run(frame, task)
    kept = sum(report.validation.rows for report in reports if report.validation is not None)
    pin = pin_for(task.split, {report.partition: report.rows for report in reports}, kept)
    if pin is None:
        return reports
    task.discard()
    return _run(frame, replace(task, pin=pin))  # few rows: writing them again costs little


def _run(frame: Any, task: WriteTask) -> list[Report]:
    rows = frame.mapInArrow(task, "report string").collect()
    reports = sorted((Report.from_json(row["report"]) for row in rows), key=lambda report: report.partition)
    check(task, reports)
    return reports
