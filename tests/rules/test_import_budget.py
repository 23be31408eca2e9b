"""Importing the package loads no framework; naming its rooms' interfaces loads none either."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

FRAMEWORKS = ["torch", "tensorflow", "keras", "pyspark", "mlflow", "petastorm", "pandas", "pyarrow", "numpy"]


def _loaded_after(code: str) -> set[str]:
    program = f"import sys, json\n{code}\nprint(json.dumps([m for m in {FRAMEWORKS!r} if m in sys.modules]))"
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(json.loads(result.stdout))


def test_importing_the_package_loads_no_framework() -> None:
    assert _loaded_after("import sparkdl_ring; dir(sparkdl_ring); sparkdl_ring.__version__") == set()


@pytest.mark.parametrize("room", ["errors", "config", "world", "job", "log", "store", "rendezvous", "launch"])
def test_lower_rooms_load_no_framework(room: str) -> None:
    heavy = {"torch", "tensorflow", "keras", "pyspark", "mlflow", "petastorm", "pandas"}
    assert not _loaded_after(f"import sparkdl_ring.{room}") & heavy


def test_the_probe_sees_a_loaded_framework() -> None:
    assert "numpy" in _loaded_after("import numpy")
