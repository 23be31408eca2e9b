"""Petastorm on current pyarrow and numpy: the one place that knows how.

Petastorm 0.12 and 0.13 import names that pyarrow 16 and numpy 2 no longer have. :func:`load` imports
Petastorm's modules while stand-ins for these names are in place, takes them away again, and leaves
Petastorm's own modules a view of numpy that has the old names. Nothing else in the process sees either.

What reads Parquet inside Petastorm (``pyarrow.parquet.ParquetDataset`` with pieces) is gone for good; our
reader hands Petastorm's ``Reader`` its own pieces and worker instead (:mod:`petastorm_source`).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from sparkdl_ring.errors import MissingDependencyError

_OLD_NUMPY = {"unicode_": np.str_, "string_": np.bytes_}
_OLD_MODULES = {
    "pyarrow.filesystem": ("LocalFileSystem", "FileSystem"),
    "pyarrow.hdfs": ("HadoopFileSystem",),
}
_LOCK = threading.RLock()


class GoneError(RuntimeError):
    """A part of old pyarrow was called that this view does not provide."""


class _Gone:
    """Stands in for a class of old pyarrow: it can be named, but not made."""

    def __init__(self, *_: object, **__: object) -> None:
        raise GoneError("pyarrow no longer has this file system; open data through sparkdl_ring.data")


def load(name: str) -> Any:
    """Imports a module of Petastorm so that it works on current pyarrow.

    Args:
        name: Full name, such as ``"petastorm.reader"``.

    Raises:
        MissingDependencyError: Petastorm, or something it needs, is not installed.
    """
    with _LOCK:
        if name not in sys.modules:
            before = set(sys.modules)
            try:
                with _old_names(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of Petastorm's own age; not the user's concern
                    importlib.import_module(name)
            except ModuleNotFoundError as error:
                raise MissingDependencyError(
                    f'reading with Petastorm needs it installed: pip install "sparkdl-ring[spark]" ({error})'
                ) from error
            _give_numpy_view(set(sys.modules) - before)
        return sys.modules[name]


@contextmanager
def _old_names() -> Iterator[None]:
    """Old modules and names of pyarrow, for as long as the block runs."""
    added = []
    for name, classes in _OLD_MODULES.items():
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            sys.modules[name] = _module(name, classes)
            added.append(name)
    has_error = hasattr(pa.lib, "ArrowIOError")
    if not has_error:
        pa.lib.ArrowIOError = OSError
    try:
        yield
    finally:
        for name in added:
            del sys.modules[name]
        if not has_error:
            del pa.lib.ArrowIOError


def _module(name: str, classes: tuple[str, ...]) -> ModuleType:
    module = ModuleType(name)
    for cls in classes:
        setattr(module, cls, type(cls, (_Gone,), {}))
    return module


class _NumpyView(ModuleType):
    """numpy with its old names."""

    def __getattr__(self, name: str) -> Any:
        return _OLD_NUMPY[name] if name in _OLD_NUMPY else getattr(np, name)


def _give_numpy_view(names: set[str]) -> None:
    if hasattr(np, "unicode_"):
        return
    view = _NumpyView("numpy")
    for name in names:
        if name.startswith("petastorm.") and getattr(sys.modules[name], "np", None) is np:
            sys.modules[name].np = view  # type: ignore[attr-defined]
