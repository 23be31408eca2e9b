"""A store: one folder behind a URL, with atomic writes and errors that say what to do.

Paths are relative to the store, separated by ``/``, and taken literally whatever characters they hold.
A store pickles as its URL and options; every process opens its own file system.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from sparkdl_ring.errors import ConfigError, StoreError
from sparkdl_ring.store.failures import naming
from sparkdl_ring.store.location import Location, locate
from sparkdl_ring.store.publish import is_temporary, local_output, remote_output, remove_folder

_PROBE = bytes(range(256)) * 64


def open_store(url: str, options: Mapping[str, Any] | None = None) -> Store:
    """Opens the store behind a URL. Nothing is read or written yet: see :meth:`Store.check_writable`.

    Args:
        url: A path, ``file://``, ``dbfs:/``, or any URL that fsspec knows (``s3://``, ``gs://``, ``abfss://``).
        options: Keyword arguments of the fsspec file system (credentials, endpoint).

    Raises:
        ConfigError: The URL is empty or of an unknown kind.
        MissingDependencyError: The URL needs a package that is not installed.
    """
    return Store(url, options)


class Store:
    """One folder behind a URL.

    Args:
        url: See :func:`open_store`.
        options: See :func:`open_store`.
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})
        self._at: Location = locate(url, self._options)

    @property
    def url(self) -> str:
        """Canonical URL, without a trailing slash."""
        return self._at.url

    def filesystem(self) -> tuple[Any, str]:
        """The fsspec file system, and the path of the store on it."""
        return self._at.fs, self._at.root

    def local_path(self, path: str) -> str | None:
        """The path for the operating system, or ``None`` when the store is not on a local disk."""
        return self._full(path) if self._at.local else None

    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            StoreError: The file is missing or cannot be read.
        """
        with self._naming("read", path), self._open(path) as file:
            return bytes(file.read())

    def write(self, path: str, data: bytes) -> None:
        """Writes a file so that readers see all of it or none; replaces what was there.

        Raises:
            StoreError: No space, no permission, or the store cannot be reached.
        """
        with self.open_output(path) as file:
            file.write(data)

    def open_input(self, path: str) -> BinaryIO:
        """A seekable file object; the caller closes it."""
        with self._naming("open", path):
            return self._open(path)

    @contextmanager
    def open_output(self, path: str) -> Iterator[BinaryIO]:
        """A file object to write to: published when the block ends well, removed when it raises.

        Raises:
            StoreError: Writing or publishing failed.
        """
        full = self._full(path)
        output = local_output(full) if self._at.local else remote_output(self._at.fs, full)
        with naming(f"{self.url}/{path}", "write"), output as file:
            yield file

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder at ``path``."""
        full = self._full(path)
        if self._at.local:
            return os.path.exists(full)  # noqa: PTH110 - plain strings take any spelling
        with self._naming("look for", path):
            self._at.fs.invalidate_cache()
            return bool(self._at.fs.exists(full))

    def size(self, path: str) -> int:
        """Bytes of a file."""
        with self._naming("look for", path):
            return int(self._at.fs.size(self._full(path)))

    def list(self, path: str = "") -> list[str]:
        """All files below ``path``, recursive, sorted, relative to ``path``; empty when there is nothing."""
        full = self._full(path)
        options: dict[str, Any] = {"on_error": _raise_unless_gone} if self._at.local else {}
        with self._naming("list", path):
            self._at.fs.invalidate_cache()
            found = self._at.fs.find(full, **options)
        names = (str(name)[len(full) :].lstrip("/") for name in found)
        return sorted(name for name in names if name and not is_temporary(name))

    def delete(self, path: str, recursive: bool = False) -> None:
        """Removes a file, or a folder when ``recursive``; silent when there is nothing.

        Raises:
            StoreError: It is a folder and ``recursive`` is off, or it cannot be removed.
        """
        full = self._full(path)
        with self._naming("delete", path), suppress(FileNotFoundError):
            if not self._at.fs.isdir(full):
                self._at.fs.rm_file(full)
            elif recursive:
                remove_folder(self._at.fs, full)
            else:
                raise StoreError(f"cannot delete {self.url}/{path}: it is a folder; pass recursive=True")

    def check_writable(self) -> None:
        """Writes, reads back and removes a small file.

        Raises:
            StoreError: One of the three failed; the message names the URL and the reason.
        """
        probe = f".probe-{uuid.uuid4().hex}"
        with self._naming("write", ""):
            self.write(probe, _PROBE)
            same = self.read(probe) == _PROBE
            self.delete(probe)
        if not same:
            raise StoreError(f"cannot trust {self.url}: a file read back differs from what was written")

    def _open(self, path: str) -> BinaryIO:
        full = self._full(path)
        if self._at.local:
            return open(full, "rb")  # noqa: PTH123 - handed to the caller
        file: BinaryIO = self._at.fs.open(full, "rb")
        return file

    def _full(self, path: str) -> str:
        if path.startswith("/") or ".." in path.split("/"):
            raise ConfigError(f"{path!r} is not a path inside the store {self.url}")
        return f"{self._at.root}/{path}" if path else self._at.root

    def _naming(self, action: str, path: str) -> Any:
        url = f"{self.url}/{path}" if path else self.url
        return naming(url, action, remote=not self._at.local)

    def __repr__(self) -> str:
        return f"Store({self.url!r})"  # options may hold secrets

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Store) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash(self.url)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Store, (self.url, self._options))


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # others may delete while we walk
        raise error
