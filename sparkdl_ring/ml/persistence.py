"""Save and load: ``metadata`` is MLlib's JSON, readable without unpickling; ``blobs`` holds bytes beside it.

Both are written by Spark, so any path that Spark can write works, through Spark Connect too.
Everything is serialised before the first byte is written, and ``metadata`` comes last: without it the folder
is no instance.
Blobs are cloudpickle and so run code when loaded: load only what you trust.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import cloudpickle
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import SparkSession
from pyspark.sql.utils import AnalysisException

from sparkdl_ring._version import __version__
from sparkdl_ring.errors import CheckpointCorruptError, ConfigError, StoreError

_PART_BYTES = 8 << 20
_SCHEMA = "name string, part int, data binary"


@dataclass(frozen=True)
class Saved:
    """What an instance keeps besides its Params.

    Args:
        facts: JSON-ready facts.
        blobs: Serialised objects by name.
    """

    facts: Mapping[str, Any]
    blobs: Mapping[str, bytes]


def pickled(what: str, value: object) -> bytes:
    """Cloudpickles a user's object.

    Raises:
        ConfigError: It cannot be pickled; the message names it.
    """
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:  # user classes raise anything from their __reduce__
        raise ConfigError(
            f"{what} cannot be pickled ({type(error).__name__}: {error}): tasks and saved files get a copy "
            "of it, so it may hold no open file, lock, connection or Spark object"
        ) from error


class RingWriter(MLWriter):  # type: ignore[misc]
    """Writes one estimator or model."""

    def __init__(self, instance: RingReadWrite) -> None:
        super().__init__()
        self._instance = instance

    def save(self, path: str) -> None:
        """Saves to ``path``; refuses a path that is taken unless ``overwrite()`` was called.

        Raises:
            StoreError: The path is taken.
            ConfigError: A part of the instance cannot be pickled; nothing has been written then.
        """
        saved = self._instance.to_saved()
        if self.shouldOverwrite:
            self._handleOverwrite(path)
        elif _is_taken(self.sparkSession, path):
            raise StoreError(f"{path} is taken: choose another path, or write().overwrite().save(path)")
        _write_blobs(self.sparkSession, path, saved.blobs)
        DefaultParamsWriter.saveMetadata(
            self._instance, path, self.sparkSession, {"sparkdl_ring": _described(saved)}
        )

    def _handleOverwrite(self, path: str) -> None:  # noqa: N802 - MLlib's name
        if isinstance(self.sparkSession, SparkSession):
            super()._handleOverwrite(path)
            return
        from pyspark.ml.connect.readwrite import RemoteMLWriter  # the JVM is at the other end

        RemoteMLWriter.handleOverwrite(path, True)


class RingReader(MLReader):  # type: ignore[misc]
    """Reads one estimator or model.

    Args:
        cls: The class to build; it must build without arguments.
    """

    def __init__(self, cls: type[Any]) -> None:
        super().__init__()
        self._cls = cls

    def load(self, path: str) -> Any:
        """Loads from ``path``.

        Raises:
            ConfigError: The path holds an instance of another class.
            CheckpointCorruptError: Bytes differ from those that were saved.
        """
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        _check_class(self._cls, metadata["class"], path)
        described = metadata["sparkdl_ring"]
        blobs = _read_blobs(self.sparkSession, path)
        _check_digests(path, described["blobs"], blobs)
        instance: Any = self._cls()
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        instance.from_saved(Saved(described["facts"], blobs))
        return instance


class RingReadWrite(MLWritable, MLReadable):  # type: ignore[misc]
    """Gives a class with Params ``write``, ``save``, ``read`` and ``load``."""

    @abstractmethod
    def to_saved(self) -> Saved:
        """What this instance keeps besides its Params; raises ConfigError when it cannot be pickled."""

    @abstractmethod
    def from_saved(self, saved: Saved) -> None:
        """Takes over what :meth:`to_saved` gave."""

    def write(self) -> RingWriter:
        """A writer; call ``overwrite()`` on it to replace what is there."""
        return RingWriter(self)

    def save(self, path: str) -> None:
        """Saves to a path that is not taken yet."""
        self.write().save(path)

    @classmethod
    def read(cls) -> RingReader:
        """A reader."""
        return RingReader(cls)

    @classmethod
    def load(cls, path: str) -> Any:
        """Loads what :meth:`save` wrote."""
        return cls.read().load(path)


def _described(saved: Saved) -> dict[str, Any]:
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in saved.blobs.items()}
    return {"version": __version__, "facts": dict(saved.facts), "blobs": digests}


def _is_taken(spark: Any, path: str) -> bool:
    try:
        spark.read.text(f"{path}/metadata").schema  # noqa: B018 - resolves the path
    except AnalysisException:
        return False
    return True


def _write_blobs(spark: Any, path: str, blobs: Mapping[str, bytes]) -> None:
    rows = [
        (name, part, data[start : start + _PART_BYTES])
        for name, data in blobs.items()
        for part, start in enumerate(range(0, max(len(data), 1), _PART_BYTES))
    ]
    spark.createDataFrame(rows, _SCHEMA).write.parquet(f"{path}/blobs")


def _read_blobs(spark: Any, path: str) -> dict[str, bytes]:
    rows = spark.read.schema(_SCHEMA).parquet(f"{path}/blobs").toLocalIterator()
    parts = sorted((row["name"], row["part"], bytes(row["data"])) for row in rows)
    blobs: dict[str, list[bytes]] = {}
    for name, _, data in parts:
        blobs.setdefault(name, []).append(data)
    return {name: b"".join(pieces) for name, pieces in blobs.items()}


def _check_class(expected: type[Any], found: str, path: str) -> None:
    if found != f"{expected.__module__}.{expected.__name__}":
        raise ConfigError(f"{path} holds a {found}, not a {expected.__name__}: load it with that class")


def _check_digests(path: str, digests: Mapping[str, str], blobs: Mapping[str, bytes]) -> None:
    for name, digest in digests.items():
        if hashlib.sha256(blobs.get(name, b"")).hexdigest() != digest:
            raise CheckpointCorruptError(f"{path}: the bytes of {name!r} are not those that were saved")


def unpickled(blobs: Mapping[str, bytes], names: Iterable[str]) -> dict[str, Any]:
    """The objects behind ``names``; those that were not saved are left out."""
    return {name: cloudpickle.loads(blobs[name]) for name in names if name in blobs}
