"""Only config.py reads the environment."""

from __future__ import annotations

import ast
from pathlib import Path

from sources import PACKAGE

NAMES = {"environ", "getenv", "environb", "putenv", "unsetenv"}


def environment_reads(source: str) -> list[int]:
    """Line numbers where ``os.environ`` and its kind are touched, however imported."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in NAMES and isinstance(node.value, ast.Name):
            if node.value.id == "os":
                lines.append(node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            lines += [node.lineno for alias in node.names if alias.name in NAMES]
    return lines


def test_only_config_reads_the_environment() -> None:
    found = {
        str(path.relative_to(PACKAGE)): lines
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != PACKAGE / "config.py" and (lines := environment_reads(path.read_text()))
    }
    assert not found


def test_every_spelling_is_seen(tmp_path: Path) -> None:
    assert environment_reads("import os\nx = os.environ['A']") == [2]
    assert environment_reads("from os import getenv") == [1]
    assert environment_reads("import os\nos.getenv('A')") == [2]
