"""A dataset: Parquet files and the manifest that makes them one.

The manifest is JSON, lies beside the files, and is written last: files without a manifest are no dataset.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from sparkdl_ring.data.schema import ColumnSpec, row_bytes
from sparkdl_ring.errors import DataError
from sparkdl_ring.store import Store, layout

FORMAT = 1


@dataclass(frozen=True)
class DataFile:
    """One Parquet file.

    Args:
        path: Relative to the store.
        row_groups: (rows, bytes in memory) of each row group.
        digest: Of the values, in hexadecimal.
    """

    path: str
    row_groups: tuple[tuple[int, int], ...]
    digest: str = ""

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return sum(rows for rows, _ in self.row_groups)


@dataclass(frozen=True)
class Dataset:
    """Rows at rest.

    Args:
        id: Names the folder in the store.
        columns: Columns in stored order; the n-th is called ``c<n>`` inside the files.
        files: Files in row order, none of them empty.
        digest: Of columns and values: equal data written alike has equal digests.
    """

    id: str
    columns: tuple[ColumnSpec, ...]
    files: tuple[DataFile, ...]
    digest: str = ""

    @cached_property
    def row_groups(self) -> tuple[tuple[int, ...], ...]:
        """Rows of each row group of each file."""
        return tuple(tuple(rows for rows, _ in file.row_groups) for file in self.files)

    @cached_property
    def rows(self) -> int:
        """All rows."""
        return sum(file.rows for file in self.files)

    @cached_property
    def bytes(self) -> int:
        """Bytes of all rows in memory."""
        return sum(size for file in self.files for _, size in file.row_groups)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row in memory."""
        return row_bytes(self.columns)

    @property
    def manifest(self) -> str:
        """Path of the manifest in the store."""
        return layout.manifest_path(self.id)

    def save(self, store: Store) -> str:
        """Writes the manifest, which publishes the dataset; returns its path in the store."""
        document = {"format": FORMAT, "rows": self.rows, "bytes": self.bytes, **asdict(self)}
        store.write(self.manifest, json.dumps(document, indent=1).encode())
        return self.manifest

    @classmethod
    def load(cls, store: Store, path: str) -> Dataset:
        """Reads a manifest.

        Raises:
            StoreError: It is not there: the dataset was never finished, or has been removed.
            DataError: It is no manifest, or of a newer format.
        """
        try:
            return _parse(json.loads(store.read(path)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{store.url}/{path} is not the manifest of a dataset: {error!r}") from error


def _parse(document: dict[str, Any]) -> Dataset:
    if document["format"] != FORMAT:
        raise ValueError(f"its format is {document['format']}, this version reads {FORMAT}")
    columns = (ColumnSpec(**{**spec, "shape": tuple(spec["shape"])}) for spec in document["columns"])
    files = tuple(parse_file(file) for file in document["files"])
    return Dataset(document["id"], tuple(columns), files, document["digest"])


def parse_file(document: dict[str, Any]) -> DataFile:
    """A file from its JSON form."""
    groups = tuple((int(rows), int(size)) for rows, size in document["row_groups"])
    return DataFile(document["path"], groups, document["digest"])


def digest_of(columns: Sequence[ColumnSpec], files: Sequence[DataFile]) -> str:
    """Hexadecimal digest of columns, row groups and values; the names of files do not count."""
    content = [[asdict(column) for column in columns], [[f.row_groups, f.digest] for f in files]]
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()
