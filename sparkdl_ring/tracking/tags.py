"""Facts about a run that every tracker gets as tags; pure, and loading no framework."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from sparkdl_ring._version import __version__

PREFIX = "sparkdl_ring."
PACKAGES = ("torch", "tensorflow", "keras", "pyspark", "petastorm", "pyarrow", "numpy", "mlflow")


def version_tags() -> dict[str, str]:
    """Versions of this package, Python, and each installed framework (read from metadata, not imported)."""
    tags = {PREFIX + "version": __version__, PREFIX + "python": platform.python_version()}
    for package in PACKAGES:
        try:
            tags[f"{PREFIX}{package}"] = version(package)
        except PackageNotFoundError:
            continue
    return tags


def run_tags(size: int, launcher: str) -> dict[str, str]:
    """Tags known before tasks start.

    Args:
        size: Number of tasks.
        launcher: Name of the launcher.
    """
    return {**version_tags(), PREFIX + "size": str(size), PREFIX + "launcher": launcher}


def transport_tags(transports: Mapping[int, str]) -> dict[str, str]:
    """Which transports the run used (``shm``, ``shm,tcp``; ``none`` for a single task)."""
    return {PREFIX + "transport": ",".join(sorted(set(transports.values()))) or "none"}
