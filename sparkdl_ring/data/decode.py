"""Parquet row groups -> numpy columns, checked against what the manifest promises."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sparkdl_ring.data.manifest import Dataset
from sparkdl_ring.data.schema import Columns, ColumnSpec
from sparkdl_ring.data.shards import RowRange
from sparkdl_ring.errors import DataError, SchemaError, ShortReadError
from sparkdl_ring.store import Store

_OPEN_FILES = 8


@dataclass(frozen=True)
class Piece:
    """A range of rows of one row group: what is read at a time.

    Args:
        path: File, relative to the store.
        row_group: Index of the row group.
        group_rows: Rows the manifest promises in it.
        start: First wanted row.
        stop: One past the last wanted row.
    """

    path: str
    row_group: int
    group_rows: int
    start: int
    stop: int

    @property
    def rows(self) -> int:
        """Number of wanted rows."""
        return self.stop - self.start


def pieces_of(dataset: Dataset, ranges: Sequence[RowRange]) -> list[Piece]:
    """Row ranges with the names and sizes needed to read them."""
    groups = dataset.row_groups
    return [
        Piece(dataset.files[r.file].path, r.row_group, groups[r.file][r.row_group], r.start, r.stop)
        for r in ranges
    ]


class PieceReader:
    """Reads pieces; keeps the files it used last open. For one thread.

    Args:
        store: Where the files are.
        columns: Wanted columns by stored name.
    """

    def __init__(self, store: Store, columns: Mapping[str, ColumnSpec]) -> None:
        self._store = store
        self._columns = dict(columns)
        self._open: OrderedDict[str, pq.ParquetFile] = OrderedDict()

    def read(self, piece: Piece) -> Columns:
        """The wanted rows, one array a column; they may be read-only views.

        Raises:
            ShortReadError: The row group has other rows than the manifest promises.
            SchemaError: A column is missing or of another type.
            StoreError: The file cannot be opened.
            DataError: The file is damaged.
        """
        try:
            file = self._file(piece.path)
            check_rows(self._store, piece, _group_rows(file, piece.row_group), piece.group_rows)
            table = file.read_row_group(piece.row_group, columns=list(self._columns), use_threads=False)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, DataError):
                raise
            where = f"{self._store.url}/{piece.path}, row group {piece.row_group}"
            raise DataError(f"cannot read {where}: {error}") from error
        check_rows(self._store, piece, table.num_rows, piece.group_rows)
        rows = slice(piece.start, piece.stop)
        return {name: self._column(piece, table, name)[rows] for name in self._columns}

    def close(self) -> None:
        """Closes all files."""
        while self._open:
            self._open.popitem()[1].close(force=True)

    def __enter__(self) -> PieceReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _file(self, path: str) -> pq.ParquetFile:
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        while len(self._open) >= _OPEN_FILES:
            self._open.popitem(last=False)[1].close(force=True)
        self._open[path] = pq.ParquetFile(_source(self._store, path))
        return self._open[path]

    def _column(self, piece: Piece, table: pa.Table, name: str) -> npt.NDArray[Any]:
        spec = self._columns[name]
        found = table.schema.field(name).type if name in table.column_names else None
        if found != spec.storage:
            kind = "missing" if found is None else f"of type {found}, not {spec.storage}"
            raise SchemaError(f"{self._store.url}/{piece.path}: column {spec.name!r} ({name}) is {kind}")
        column = table.column(name)
        chunk = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if chunk.null_count:
            raise SchemaError(
                f"{self._store.url}/{piece.path}: column {spec.name!r} has {chunk.null_count} nulls"
            )
        if spec.kind == "scalar":
            values: npt.NDArray[Any] = chunk.to_numpy(zero_copy_only=False)
            return values
        return _rows_of_bytes(chunk, spec)


def check_rows(store: Store, piece: Piece, got: int, expected: int) -> None:
    """Compares a count with the promised one.

    Raises:
        ShortReadError: They differ; names file, row group and both counts.
    """
    if got != expected:
        raise ShortReadError(
            f"{store.url}/{piece.path}, row group {piece.row_group}: expected {expected} rows, got {got}; "
            "the file is not the one the manifest describes: materialise the data again"
        )


def _group_rows(file: pq.ParquetFile, row_group: int) -> int:
    meta = file.metadata
    return int(meta.row_group(row_group).num_rows) if row_group < meta.num_row_groups else 0


def _source(store: Store, path: str) -> Any:
    local = store.local_path(path)
    if local is None or not store.exists(path):
        return store.open_input(path)  # raises the error that names the URL when it is not there
    return pa.OSFile(local)  # reads without holding the GIL


def _rows_of_bytes(chunk: pa.FixedSizeBinaryArray, spec: ColumnSpec) -> npt.NDArray[Any]:
    count = int(np.prod(spec.shape)) * len(chunk)
    offset = chunk.offset * spec.row_bytes
    flat = np.frombuffer(chunk.buffers()[1], dtype=spec.dtype, count=count, offset=offset)
    return flat.reshape(len(chunk), *spec.shape)
