"""One barrier task a rank, on classic Spark and on Spark Connect by the same code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from sparkdl_ring import config
from sparkdl_ring.errors import LaunchError, MissingDependencyError
from sparkdl_ring.launch.api import LaunchOptions
from sparkdl_ring.launch.board import Board
from sparkdl_ring.launch.payload import decode_result, encode_call
from sparkdl_ring.launch.preflight import check_slots
from sparkdl_ring.launch.spark_job import SparkJob, is_connect
from sparkdl_ring.launch.spark_report import explain
from sparkdl_ring.launch.spark_task import SCHEMA, barrier_task
from sparkdl_ring.launch.task import TaskSpec, specify
from sparkdl_ring.store import open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "local")


class SparkLauncher:
    """Runs every rank as a task of one barrier stage.

    Args:
        spark: The session; default the active one.
    """

    def __init__(self, spark: SparkSession | None = None) -> None:
        self._spark = spark

    def platform_settings(self) -> Mapping[str, str]:
        """The session's settings under ``spark.sparkdl_ring.``."""
        settings = self.session().conf.getAll
        return {name: value for name, value in settings.items() if name.startswith(config.SPARK_PREFIX)}

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        num_workers: int,
        options: LaunchOptions,
    ) -> list[Any]:
        """See :class:`~sparkdl_ring.launch.api.Launcher`."""
        call, spark = encode_call(fn, args, kwargs), self.session()
        if options.config.launch.preflight:
            check_slots(spark, num_workers)
        with _board(spark, options) as board:
            spec = specify(call, num_workers, options, board)
            job = SparkJob(spark, _stage(spark, spec).collect)
            outcome = job.run(options.on_poll, options.poll_s)
            if outcome.error is not None:
                raise explain(outcome.error, board)
        rows = ((row["rank"], row["part"], bytes(row["data"])) for row in outcome.answer)
        return gather(rows, num_workers)

    def session(self) -> SparkSession:
        """The session in use.

        Raises:
            MissingDependencyError: PySpark is not installed.
            LaunchError: No session was given and none is active.
        """
        if self._spark is not None:
            return self._spark
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise MissingDependencyError(
                'PySpark is not installed. Run: pip install "sparkdl-ring[spark]"'
            ) from error
        active = SparkSession.getActiveSession()
        if active is None:
            raise LaunchError("no Spark session is active: create one, or use SparkLauncher(spark)")
        return active


def gather(rows: Iterator[tuple[int, int, bytes]], size: int) -> list[Any]:
    """The ranks' results from (rank, part, bytes) in any order.

    Raises:
        LaunchError: A rank gave none.
    """
    parts: dict[int, dict[int, bytes]] = {}
    for rank, part, data in rows:
        parts.setdefault(rank, {})[part] = data
    if sorted(parts) != list(range(size)):
        raise LaunchError(
            f"results of ranks {sorted(parts)} came where those of 0 to {size - 1} were expected"
        )
    return [
        decode_result(b"".join(parts[rank][part] for part in sorted(parts[rank])), rank)
        for rank in range(size)
    ]


def _stage(spark: SparkSession, spec: TaskSpec) -> DataFrame:
    """One row and partition a rank: no plan of the user's can change their number or place."""
    frame = spark.range(0, spec.size, 1, spec.size)
    return frame.mapInArrow(partial(barrier_task, spec), SCHEMA, barrier=True)


@contextmanager
def _board(spark: SparkSession, options: LaunchOptions) -> Iterator[Board | None]:
    """The caller's board, else a private folder where tasks share this machine's disk, else none."""
    if options.board is not None:
        yield Board(options.board, options.board_path)
    elif _shares_disk(spark):
        with tempfile.TemporaryDirectory(prefix="sparkdl-ring-", ignore_cleanup_errors=True) as folder:
            board = Board(open_store(folder), "board", brief=True)
            board.open()
            yield board
    else:
        yield None


def _shares_disk(spark: SparkSession) -> bool:
    if not str(spark.conf.get("spark.master", "")).startswith("local"):
        return False
    if not is_connect(spark):
        return True
    return str(getattr(spark.client, "host", "")) in _LOOPBACK
