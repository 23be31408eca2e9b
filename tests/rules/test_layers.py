"""Imports run one way, as the contracts in pyproject.toml say; and the check itself can fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _lint(config: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from importlinter.cli import lint_imports_command as c; c()"
    return subprocess.run(
        [sys.executable, "-c", code, "--config", str(config), "--no-cache"],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_contracts_are_kept() -> None:
    result = _lint(ROOT / "pyproject.toml", ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_wrong_import_breaks_the_contract(tmp_path: Path) -> None:
    package = tmp_path / "house"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "upper.py").write_text("")
    (package / "lower.py").write_text("def f() -> None:\n    import house.upper\n")
    config = tmp_path / "pyproject.toml"
    config.write_text(
        '[tool.importlinter]\nroot_package = "house"\n[[tool.importlinter.contracts]]\n'
        'name = "one way"\ntype = "layers"\nlayers = ["house.upper", "house.lower"]\n'
    )
    result = _lint(config, tmp_path)
    assert result.returncode == 1
    assert "house.lower -> house.upper" in result.stdout
