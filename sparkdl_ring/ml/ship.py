"""How a model's bytes reach Spark's Python workers: in the plan when small, else by broadcast or store."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.store import Store, open_store

INLINE_BYTES = 1 << 20
_CONNECT_BYTES = 32 << 20


class Parcel(Protocol):
    """Bytes that can be fetched in a worker.

    Args:
        key: Digest of the bytes: what a worker has loaded under it, it need not load again.
    """

    @property
    def key(self) -> str: ...

    def fetch(self) -> bytes:
        """The bytes."""


@dataclass(frozen=True)
class Inline:
    """Bytes inside the plan."""

    key: str
    data: bytes

    def fetch(self) -> bytes:
        return self.data


@dataclass(frozen=True)
class Broadcast:
    """Bytes that Spark sends once to each executor."""

    key: str
    handle: Any

    def fetch(self) -> bytes:
        return bytes(self.handle.value)


@dataclass(frozen=True)
class Stored:
    """Bytes in a file of the store."""

    key: str
    store: Store
    path: str

    def fetch(self) -> bytes:
        return self.store.read(self.path)


def ship(data: bytes, spark: Any, store_url: str | None) -> Parcel:
    """Makes bytes reachable for the workers of a session.

    Args:
        data: The bytes.
        spark: The session, classic or Connect.
        store_url: A store that executors reach, where there is one.

    Raises:
        ConfigError: They are too many for Spark Connect and there is no store.
    """
    key = hashlib.sha256(data).hexdigest()
    if len(data) <= INLINE_BYTES:
        return Inline(key, data)
    if not _is_connect(spark):
        return Broadcast(key, spark.sparkContext.broadcast(data))
    if store_url is not None:
        return _stored(key, data, open_store(store_url))
    if len(data) <= _CONNECT_BYTES:
        return Inline(key, data)
    raise ConfigError(
        f"the model has {len(data) >> 20} MiB, too many to send through Spark Connect: set store to a folder "
        "that the executors reach"
    )


def _stored(key: str, data: bytes, store: Store) -> Stored:
    path = f"models/{key}.bin"
    if not store.exists(path):
        store.write(path, data)
    return Stored(key, store, path)


def _is_connect(spark: Any) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect.")
