"""Writing one partition, inside a Spark task: exact row groups, and a report for the driver.

A task never decides that a column is bad: it measures, and the driver, who sees all partitions, refuses.
Once a column cannot be stored the task only goes on measuring.
"""

from __future__ import annotations

import hashlib
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sparkdl_ring.config import DataConfig
from sparkdl_ring.data.encode import Measure, measure, to_numpy
from sparkdl_ring.data.manifest import DataFile
from sparkdl_ring.data.report import Report
from sparkdl_ring.data.rows import RowQueue
from sparkdl_ring.data.schema import Columns, ColumnSpec, row_bytes, stored_name
from sparkdl_ring.data.split import Splitter, take
from sparkdl_ring.store import Store


@dataclass
class GroupWriter:
    """One Parquet file; appears in the store when closed without an error.

    Args:
        store: Where to.
        path: Relative path.
        columns: Columns with known shapes.
        group_rows: Rows of a row group; the last one may have fewer.
    """

    store: Store
    path: str
    columns: tuple[ColumnSpec, ...]
    group_rows: int
    _queue: RowQueue = field(default_factory=RowQueue)
    _groups: list[tuple[int, int]] = field(default_factory=list)
    _digest: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=16))

    def __enter__(self) -> GroupWriter:
        names = [stored_name(index) for index in range(len(self.columns))]
        self._schema = pa.schema(list(zip(names, (c.storage for c in self.columns), strict=True)))
        coded = [
            n for n, c in zip(names, self.columns, strict=True) if c.kind == "scalar" and c.dtype[0] == "i"
        ]
        self._stack = ExitStack()
        output = self._stack.enter_context(self.store.open_output(self.path))
        self._parquet = self._stack.enter_context(
            pq.ParquetWriter(
                output, self._schema, compression="lz4", use_dictionary=coded, write_statistics=False
            )
        )
        return self

    def append(self, columns: Columns) -> None:
        """Adds rows; writes row groups as they become full."""
        self._queue.push(columns)
        while len(self._queue) >= self.group_rows:
            self._write(self.group_rows)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and len(self._queue):
            self._write(len(self._queue))
        self._stack.__exit__(kind, error, trace)

    def _write(self, rows: int) -> None:
        columns = self._queue.take(rows)
        for array in columns.values():
            self._digest.update(array)
        arrays = [_stored(columns[f.name], f.type) for f in self._schema]
        self._parquet.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=rows)
        self._groups.append((rows, rows * row_bytes(self.columns)))

    def file(self) -> DataFile:
        """What was written."""
        return DataFile(self.path, tuple(self._groups), self._digest.hexdigest())


class PartitionWriter:
    """Measures, splits and writes the rows of one partition.

    Args:
        store: Where to.
        folders: Folder of training files and of validation files.
        columns: Columns with shapes as far as the schema tells.
        splitter: Decides the side of each row.
        config: Sizes of row groups.
    """

    def __init__(
        self,
        store: Store,
        folders: tuple[str, str],
        columns: tuple[ColumnSpec, ...],
        splitter: Splitter,
        config: DataConfig,
    ) -> None:
        self._store, self._folders, self._config = store, folders, config
        self._columns, self._splitter = columns, splitter
        self._stack = ExitStack()
        self._writers: dict[bool, GroupWriter] = {}
        self._group_rows = 0

    def write(self, partition: int, batches: Any) -> Report:
        """Consumes all rows of the partition.

        Args:
            partition: Its number.
            batches: Arrow record batches: the columns in order, then the validation column if one decides.

        Raises:
            StoreError: The store cannot be written.
        """
        report = Report(partition, [Measure() for _ in self._columns])
        with self._stack:
            for batch in batches:
                if batch.num_rows and self._measure(batch, report):
                    self._append(batch, partition)
        files = {side: writer.file() for side, writer in self._writers.items()}
        report.train, report.validation = files.get(False), files.get(True)
        return report

    def _measure(self, batch: pa.RecordBatch, report: Report) -> bool:
        report.rows += batch.num_rows
        for index, (spec, found) in enumerate(zip(self._columns, report.measures, strict=True)):
            found.merge(measure(batch.column(index), spec.kind))
        if batch.num_columns > len(self._columns):
            report.split_nulls += batch.column(len(self._columns)).null_count
        return not report.split_nulls and all(found.clean for found in report.measures)

    def _append(self, batch: pa.RecordBatch, partition: int) -> None:
        if not self._group_rows:
            self._size(batch)
        for start in range(0, batch.num_rows, self._group_rows):  # bounds what sparse vectors become
            part = batch.slice(start, self._group_rows)
            columns = {stored_name(i): to_numpy(part.column(i), spec) for i, spec in enumerate(self._columns)}
            last = part.column(len(self._columns)) if part.num_columns > len(self._columns) else None
            mask = self._splitter.mask(part.num_rows, last)
            for side in (False, True):
                chosen = mask if side else ~mask
                if chosen.any():
                    self._writer(side, partition).append(take(columns, chosen))

    def _size(self, batch: pa.RecordBatch) -> None:
        found = [measure(batch.column(i).slice(0, 1), c.kind).longest for i, c in enumerate(self._columns)]
        self._columns = tuple(
            spec if length is None else spec.sized(length)
            for spec, length in zip(self._columns, found, strict=True)
        )
        rows = self._config.row_group_rows or self._config.row_group_bytes // row_bytes(self._columns)
        self._group_rows = max(1, rows)

    def _writer(self, side: bool, partition: int) -> GroupWriter:
        if side not in self._writers:
            # A name of its own for each attempt: of speculative twins only the reported one counts.
            path = f"{self._folders[side]}/part-{partition:05d}-{uuid.uuid4().hex[:12]}.parquet"
            writer = GroupWriter(self._store, path, self._columns, self._group_rows)
            self._writers[side] = self._stack.enter_context(writer)
        return self._writers[side]


def _stored(values: npt.NDArray[Any], storage: pa.DataType) -> pa.Array:
    if not pa.types.is_fixed_size_binary(storage):
        return pa.array(values, type=storage)
    return pa.Array.from_buffers(storage, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
