"""A local Spark session with settings that suit tests, the demo and laptops."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sparkdl_ring.config import scoped_environment
from sparkdl_ring.errors import MissingDependencyError
from sparkdl_ring.launch.java import spark_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def local_session(
    slots: int, app_name: str = "sparkdl-ring", extra_conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Starts (or returns the running) Spark session on this machine.

    Args:
        slots: Tasks that may run at once.
        app_name: Name shown by Spark.
        extra_conf: Spark settings that win over the ones chosen here.

    Raises:
        MissingDependencyError: PySpark or a Java for it is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingDependencyError(
            'PySpark is not installed. Run: pip install "sparkdl-ring[spark]"'
        ) from error
    settings = {**_settings(slots), **(extra_conf or {})}
    # The gateway reads these once, when it starts the JVM.
    with scoped_environment(_gateway_environment()):
        builder = SparkSession.builder.master(f"local[{slots}]").appName(app_name)
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _gateway_environment() -> dict[str, str | None]:
    return {
        "JAVA_HOME": str(spark_java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def _settings(slots: int) -> dict[str, str]:
    scratch = Path(tempfile.gettempdir()) / f"sparkdl-ring-warehouse-{os.getuid()}"
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.python": sys.executable,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        "spark.sql.shuffle.partitions": str(slots),
        "spark.sql.warehouse.dir": scratch.as_uri(),
    }
