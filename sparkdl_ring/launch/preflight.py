"""What can be known before tasks start: slots and settings of Spark that rule out a barrier stage."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from sparkdl_ring.errors import ConfigError, NotEnoughTasksError
from sparkdl_ring.launch.spark_job import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ConfReader = Callable[[str, str], str]
_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?$")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]$")


def check_slots(spark: SparkSession, num_workers: int) -> None:
    """Raises at once what Spark itself would find out after ten minutes.

    Args:
        spark: The session, classic or Connect.
        num_workers: Tasks that must run at the same time.

    Raises:
        NotEnoughTasksError: There are known to be fewer slots.
        ConfigError: Dynamic allocation is on, which Spark refuses for barrier stages.
    """

    def read(name: str, default: str) -> str:
        return str(spark.conf.get(name, default))

    refuse_dynamic_allocation(read)
    check_count(slots_from(read, _processors(spark)), num_workers, read("spark.master", ""))


def refuse_dynamic_allocation(read: ConfReader) -> None:
    """Raises :class:`ConfigError` when ``spark.dynamicAllocation.enabled`` is true."""
    if read("spark.dynamicAllocation.enabled", "false").strip().lower() == "true":
        raise ConfigError(
            "spark.dynamicAllocation.enabled is true, and Spark runs no barrier stage with it (SPARK-24942): "
            "set it to false and ask for executors with spark.executor.instances"
        )


def check_count(slots: int | None, num_workers: int, master: str) -> None:
    """Raises :class:`NotEnoughTasksError` when ``slots`` is known and too small."""
    if slots is None or num_workers <= slots:
        return
    remedy = (
        f"start Spark with master local[{num_workers}]"
        if master.startswith("local")
        else "raise spark.executor.instances or spark.executor.cores, or lower spark.task.cpus"
    )
    raise NotEnoughTasksError(
        f"num_workers is {num_workers}, but Spark (master {master or 'unknown'}) runs {slots} task(s) at a "
        f"time and all must run together: use num_workers={slots} or {remedy}"
    )


def slots_from(read: ConfReader, processors: int | None = None) -> int | None:
    """Tasks that can run at once, from the settings; ``None`` where they do not tell.

    Args:
        read: Looks up a setting, with a default.
        processors: What ``local[*]`` means on the driver, where known.
    """
    master = read("spark.master", "")
    task_cpus = int(read("spark.task.cpus", "1"))
    local, cluster = _LOCAL.match(master), _LOCAL_CLUSTER.match(master)
    if local:
        cores = processors if local.group(1) == "*" else int(local.group(1) or "1")
        return None if cores is None else cores // task_cpus
    if cluster:
        return int(cluster.group(1)) * (int(cluster.group(2)) // task_cpus)
    executors, each = read("spark.executor.instances", ""), read("spark.executor.cores", "")
    if executors.isdigit() and each.isdigit() and int(executors) > 0:
        return int(executors) * (int(each) // task_cpus)
    return None


def _processors(spark: SparkSession) -> int | None:
    """The processors that the driver's JVM sees; unknown on Spark Connect."""
    jvm = None if is_connect(spark) else getattr(spark.sparkContext, "_jvm", None)
    return None if jvm is None else int(jvm.java.lang.Runtime.getRuntime().availableProcessors())
