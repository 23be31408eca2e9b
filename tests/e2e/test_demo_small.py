"""The demo on a part of the flights, and the examples, as a user runs them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sparkdl_ring.config import environment

_ROOT = Path(__file__).resolve().parents[2]


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        cwd=_ROOT,
        env={**environment(), "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_demo_on_a_part_of_the_flights(tmp_path: Path) -> None:
    done = _run(
        "-m", "sparkdl_ring.cli", "demo", "--rows", "60000", "--epochs", "4", "--out", str(tmp_path / "out")
    )
    assert "open it with" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    assert [int(n) for n in re.findall(r"^  epoch (\d+)", done.stdout, re.MULTILINE)] == [1, 2, 3, 4]
    auc, baseline = (float(figure) for figure in re.findall(r"(?:AUC|Regression) +(0\.\d+)", done.stdout))
    assert auc > 0.65
    assert baseline > 0.65
    assert done.returncode == (0 if auc > baseline else 1)
    assert (tmp_path / "out" / "mlflow.db").is_file()
    assert (tmp_path / "out" / "pipeline" / "metadata").is_dir()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("example", ["00_allreduce.py", "01_torch_estimator.py"])
def test_examples_run(example: str) -> None:
    done = _run(f"examples/{example}")
    assert done.returncode == 0, done.stderr[-3000:]
