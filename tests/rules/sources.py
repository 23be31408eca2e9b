"""The project's own sources, for the rule tests."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sparkdl_ring"
NATIVE = ROOT / "native"


def python_files() -> list[Path]:
    """All Python sources: package, tests and examples."""
    return sorted(p for d in ("sparkdl_ring", "tests", "examples") for p in (ROOT / d).rglob("*.py"))


def cpp_files() -> list[Path]:
    """All C++ sources."""
    return sorted(p for ext in ("*.h", "*.cc") for p in NATIVE.rglob(ext))
