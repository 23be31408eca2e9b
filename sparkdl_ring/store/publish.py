"""Writing so that a reader sees the whole file or none.

Local disks: temporary name in the same folder, fsync, rename. Everything else: the bytes are gathered
on this host first and put in one request, since an object appears only when its put is complete; file
systems with their own rename (HDFS, SFTP) put under a temporary name first.
"""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import has_magic
from pathlib import Path
from typing import Any, BinaryIO

_TEMPORARY = re.compile(r"^\.[0-9a-f]{32}\.part$")
_RENAMING = {"hdfs", "arrow_hdfs", "webhdfs", "sftp", "ssh", "smb"}
_SPOOL_BYTES = 32 << 20


def is_temporary(path: str) -> bool:
    """Whether a path is a file that is not published yet."""
    return _TEMPORARY.match(path.rsplit("/", 1)[-1]) is not None


def _temporary(path: str) -> str:
    return f"{path.rpartition('/')[0]}/.{uuid.uuid4().hex}.part"


@contextmanager
def local_output(path: str) -> Iterator[BinaryIO]:
    """A local file that appears under its name when the block ends without an error.

    Args:
        path: Absolute path; missing folders are made.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    hidden = Path(_temporary(path))
    try:
        with hidden.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(target)
        _sync_folder(target.parent)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some network file systems cannot sync a folder; the rename still holds
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def remote_output(fs: Any, path: str) -> Iterator[BinaryIO]:
    """A file of any fsspec file system, gathered on this host and put when the block ends without an error.

    Args:
        fs: The fsspec file system.
        path: Its path there.
    """
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
        yield spool  # type: ignore[misc]
        spool.seek(0)
        _put(fs, path, spool)


def _put(fs: Any, path: str, source: Any) -> None:
    protocols = {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)
    renames = bool(protocols & _RENAMING)
    target = _temporary(path) if renames else path
    fs.makedirs(path.rpartition("/")[0], exist_ok=True)
    try:
        _copy(fs, target, source)
        if renames:
            with suppress(FileNotFoundError):
                fs.rm_file(path)
            fs.mv(target, path)
    except BaseException:
        with suppress(OSError):
            fs.rm_file(target) if renames else None
        raise


def _copy(fs: Any, target: str, source: Any) -> None:
    if source.seek(0, os.SEEK_END) <= _SPOOL_BYTES:  # one request, no multi-part upload
        source.seek(0)
        fs.pipe_file(target, source.read())
        return
    source.seek(0)
    with fs.open(target, "wb") as file:
        while block := source.read(_SPOOL_BYTES):
            file.write(block)


def remove_folder(fs: Any, path: str) -> None:
    """Removes a folder and all below it; ``*``, ``?`` and ``[`` in its name mean themselves."""
    if not has_magic(path):  # one bulk request where the file system has one
        fs.rm(path, recursive=True)
        return
    folders = [name for name, _, _ in fs.walk(path)]
    for file in fs.find(path):
        fs.rm_file(file)
    for folder in reversed(folders):
        with suppress(OSError, NotImplementedError):  # object stores have no folders
            fs.rmdir(folder)
