"""URL to file system: which implementation serves a URL, and where its root lies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkdl_ring.errors import ConfigError, MissingDependencyError, StoreError

_EXTRA = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
}


@dataclass(frozen=True)
class Location:
    """A resolved URL.

    Args:
        url: Canonical URL without a trailing slash.
        fs: The fsspec file system.
        root: Path of the store on it.
        local: Whether ``root`` is a path of this operating system.
    """

    url: str
    fs: Any
    root: str
    local: bool


def locate(url: str, options: Mapping[str, Any]) -> Location:
    """Resolves a URL. Local paths are taken literally: ``#``, ``%20`` and ``::`` mean themselves.

    Args:
        url: A path, or ``file://``, ``dbfs:/``, or any URL that fsspec knows.
        options: Keyword arguments of the fsspec file system (credentials, endpoint).

    Raises:
        ConfigError: The URL is empty or of an unknown kind.
        MissingDependencyError: The file system needs a package that is not installed.
    """
    if not url:
        raise ConfigError("the store URL is empty: give a folder every host can reach, such as s3://bucket/x")
    path = _local_path(url)
    return _remote(url, options) if path is None else _local(path)


def _local_path(url: str) -> str | None:
    if url.startswith("dbfs:/"):  # Databricks mounts its file system there on every host
        return "/dbfs/" + url[len("dbfs:/") :].lstrip("/")
    for prefix in ("file://localhost/", "file:///"):
        if url.startswith(prefix):
            return "/" + url[len(prefix) :]
    if url.startswith("file:/") and not url.startswith("file://"):
        return url[len("file:") :]
    return None if "://" in url else url


def _local(path: str) -> Location:
    import fsspec

    root = str(Path(os.path.abspath(path)))  # noqa: PTH100 - resolve() would follow links
    return Location(f"file://{root}", fsspec.filesystem("file"), root, local=True)


def _remote(url: str, options: Mapping[str, Any]) -> Location:
    import fsspec

    protocol = url.split("://", 1)[0]
    try:
        fs, root = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        package = _EXTRA.get(protocol, f"the fsspec package for {protocol}://")
        raise MissingDependencyError(f"{url} needs a package: pip install {package} ({error})") from error
    except ValueError as error:
        raise ConfigError(f"cannot open the store {url}: {error}") from error
    except Exception as error:  # clients raise their own kinds for missing credentials
        raise StoreError(f"cannot open the store {url}: {type(error).__name__}: {error}") from error
    return Location(url.rstrip("/"), fs, str(root).rstrip("/"), local=False)
