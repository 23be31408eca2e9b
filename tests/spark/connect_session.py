"""A Spark Connect session and what ranks do in it; run by test_launch_spark_connect.py in its own process.

Spark allows no classic and no Connect session in one process. Writes one JSON object to standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from sparkdl_ring import run
from sparkdl_ring.config import scoped_environment
from sparkdl_ring.errors import NotEnoughTasksError, TaskFailedError
from sparkdl_ring.launch import LaunchOptions
from sparkdl_ring.launch.java import spark_java_home
from sparkdl_ring.launch.spark import SparkLauncher

FOLDER = Path(sys.argv[1])


def session() -> SparkSession:
    settings = {
        "JAVA_HOME": str(spark_java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with scoped_environment(settings):
        return SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()


def reduce() -> tuple[int, list[float], int]:
    import numpy as np

    from sparkdl_ring import current

    comm = current()
    mean = comm.allreduce(np.full(2, float(comm.rank)))
    return comm.rank, mean.tolist(), len(bytes(5_000_000))


def fail(how: str) -> None:
    from sparkdl_ring import current

    comm = current()
    if comm.rank == 1 and how == "raise":
        raise ValueError('it\'s "bad"\n\\ \u00e9')
    if comm.rank == 1:
        os._exit(3)
    comm.barrier()


def failure(spark: SparkSession, how: str, board: bool) -> dict[str, Any]:
    launcher = SparkLauncher(spark)
    if not board:
        import sparkdl_ring.launch.spark as module

        module._shares_disk = lambda spark: False
    try:
        run(fail, how, num_workers=2, launcher=launcher)
    except TaskFailedError as error:
        return {"rank": error.rank, "cause": repr(error.__cause__), "text": str(error)}
    return {}


def interrupted(spark: SparkSession) -> float:
    started = FOLDER / "started"

    def sleep() -> None:
        started.touch()
        time.sleep(600)

    seen: list[float] = []

    def on_poll() -> None:
        if started.exists():
            seen.append(time.monotonic())
            raise KeyboardInterrupt

    try:
        SparkLauncher(spark).run(sleep, (), {}, 1, LaunchOptions(on_poll=on_poll, poll_s=0.05))
    except KeyboardInterrupt:
        return time.monotonic() - seen[0]
    return float("inf")


def refused(spark: SparkSession) -> str:
    try:
        run(reduce, num_workers=3, launcher=SparkLauncher(spark))
    except NotEnoughTasksError as error:
        return str(error)
    return ""


def main() -> None:
    spark = session()
    answer = {
        "results": run(reduce, num_workers=2),
        "raise": failure(spark, "raise", board=True),
        "exit": failure(spark, "exit", board=True),
        "raise_without_board": failure(spark, "raise", board=False),
        "exit_without_board": failure(spark, "exit", board=False),
        "interrupted_s": interrupted(spark),
        "refused": refused(spark),
        "afterwards": run(reduce, num_workers=2),
    }
    spark.stop()
    sys.stdout.write(json.dumps(answer))


main()
