"""The allreduce bench on the driver: launches the ranks, gathers what they measured."""

from __future__ import annotations

import tempfile

from sparkdl_ring.bench import condition, report
from sparkdl_ring.bench.api import Plan, Row
from sparkdl_ring.bench.ranks import Errand, measure
from sparkdl_ring.config import CommConfig, RingConfig
from sparkdl_ring.launch import run
from sparkdl_ring.launch.local import LocalLauncher

_TIMEOUT_S = 900.0  # while one rank runs an MPI, the others wait


def allreduce(plan: Plan) -> list[Row]:
    """Measures everything in the plan.

    Raises:
        ConfigError: The condition cannot be had, or an MPI of the plan is not there.
        TaskFailedError: A rank failed.
    """
    found: list[Row] = []
    settings = RingConfig(comm=CommConfig(timeout_s=_TIMEOUT_S))
    for num_ranks in plan.ranks:
        with tempfile.TemporaryDirectory(prefix="sparkdl-ring-bench-") as folder:
            errand = Errand(plan, folder)
            with condition.busy_cores(plan.condition == "loaded"):
                samples = run(
                    measure, errand, num_workers=num_ranks, launcher=LocalLauncher(), config=settings
                )
            found += report.rows(samples, plan.condition)
    return found
