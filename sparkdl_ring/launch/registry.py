"""Launchers by name; a technology is loaded only when its launcher is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sparkdl_ring.errors import ConfigError

_LAUNCHERS = {
    "local": "sparkdl_ring.launch.local:LocalLauncher",
    "spark": "sparkdl_ring.launch.spark:SparkLauncher",
}


def named_launcher(name: str) -> Any:
    """A launcher of that name with default arguments; raises :class:`ConfigError` when there is none."""
    if name not in _LAUNCHERS:
        raise ConfigError(f"launcher {name!r} is unknown; known: {', '.join(_LAUNCHERS)}")
    module, _, cls = _LAUNCHERS[name].partition(":")
    return getattr(import_module(module), cls)()
