"""Exact, never-hanging distributed deep learning on Spark.

Importing this package loads no framework: every public name is resolved when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sparkdl_ring._version import __version__

if TYPE_CHECKING:
    from sparkdl_ring import errors
    from sparkdl_ring.comm import Communicator, current, rank, size
    from sparkdl_ring.launch import run
    from sparkdl_ring.ml import TorchEstimator, TorchModel
    from sparkdl_ring.store import open_store
    from sparkdl_ring.world import World

__all__ = [
    "run",
    "current",
    "rank",
    "size",
    "Communicator",
    "World",
    "errors",
    "TorchEstimator",
    "TorchModel",
    "open_store",
    "__version__",
]

_HOMES = {
    "run": "launch",
    "current": "comm",
    "rank": "comm",
    "size": "comm",
    "Communicator": "comm",
    "World": "world",
    "TorchEstimator": "ml",
    "TorchModel": "ml",
    "open_store": "store",
}


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("sparkdl_ring.errors")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
