"""The store of one fit: the user's, or a temporary folder that is gone afterwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.store import Store, open_store


def check_place(store_url: str | None, spark: Any) -> None:
    """Finds out whether a fit has a place to work; writes at most a small file.

    Args:
        store_url: The user's store, or none.
        spark: The session.

    Raises:
        ConfigError: There is no store, and executors may be on other hosts.
        StoreError: The store cannot be written.
    """
    if store_url is not None:
        open_store(store_url).check_writable()
    elif not spark.conf.get("spark.master", "").startswith("local"):
        raise ConfigError(
            "set store to a folder that the driver and all executors reach, such as 's3://bucket/runs' or a "
            "shared disk: the executors of this session may run on other hosts"
        )


@contextmanager
def workplace(store_url: str | None) -> Iterator[Store]:
    """The store to work in. What lies in a user's store stays; a temporary one is removed, come what may."""
    if store_url is not None:
        yield open_store(store_url)
        return
    folder = tempfile.mkdtemp(prefix="sparkdl_ring-")
    try:
        yield open_store(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
