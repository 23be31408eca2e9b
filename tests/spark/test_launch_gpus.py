"""A cluster of Spark's own that schedules GPUs: LOG-147, from the discovery script to each mask."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from sparkdl_ring.config import environment

pytestmark = [pytest.mark.spark, pytest.mark.multi, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]

DISCOVERY = """#!/bin/sh
echo '{"name": "gpu", "addresses": ["3", "5"]}'
"""

SCRIPT = """
import json, sys
from pathlib import Path
from sparkdl_ring import run
from sparkdl_ring.launch.session import local_session

session = local_session(2, extra_conf=json.loads(sys.argv[1]))

def work():
    from sparkdl_ring import config, current

    return config.environment().get("CUDA_VISIBLE_DEVICES"), current().world.gpu

Path(sys.argv[2]).write_text(json.dumps(run(work, num_workers=2)))
session.stop()
"""


def test_each_task_sees_the_gpu_that_spark_gave_it(tmp_path):
    discovery = tmp_path / "gpus.sh"
    discovery.write_text(DISCOVERY)
    discovery.chmod(0o755)
    conf = {
        "spark.master": "local-cluster[1,2,1024]",
        "spark.worker.resource.gpu.amount": "2",
        "spark.worker.resource.gpu.discoveryScript": str(discovery),
        "spark.executor.resource.gpu.amount": "2",
        "spark.task.resource.gpu.amount": "1",
    }
    changes = {
        "CUDA_VISIBLE_DEVICES": "2,3,5",
        "PYTHONPATH": str(ROOT),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "SPARK_LOCAL_DIRS": str(tmp_path / "local"),
    }
    subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(conf), str(tmp_path / "seen")],
        env={**environment(), **changes},
        check=True,
        timeout=110,
    )
    assert json.loads((tmp_path / "seen").read_text()) == [["3", "3"], ["5", "5"]]
