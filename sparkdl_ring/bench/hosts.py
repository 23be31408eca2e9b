"""The allreduce bench across hosts: network namespaces with a wire of a given speed, root only."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack

from sparkdl_ring.bench import baseline, condition, report
from sparkdl_ring.bench.api import Plan, Row, Sample, Wires
from sparkdl_ring.bench.contenders import Field
from sparkdl_ring.bench.lab import Lab, Wire
from sparkdl_ring.bench.lab_ranks import play_all
from sparkdl_ring.bench.ranks import Errand, rounds
from sparkdl_ring.comm import Communicator
from sparkdl_ring.config import CommConfig

_TIMEOUT_S = 300.0
_RUN_S = 3600.0


def allreduce_on_hosts(plan: Plan, wires: Wires) -> list[Row]:
    """Measures everything in the plan on each number of hosts.

    Raises:
        ConfigError: Not root, or the system lacks what network namespaces need.
        RingError: A rank failed.
    """
    found: list[Row] = []
    config = CommConfig(timeout_s=_TIMEOUT_S)
    for num_hosts in wires.hosts:
        wire = Wire(wires.rate_mbit, wires.delay_ms, wires.loss)
        places = [host for host in range(num_hosts) for _ in range(wires.ranks_per_host)]
        with (
            Lab(num_hosts, wire) as lab,
            tempfile.TemporaryDirectory(prefix="sparkdl-ring-bench-") as folder,
            condition.busy_cores(plan.condition == "loaded"),
        ):
            addresses = [lab.ipv4(host) for host in places]
            errand = Errand(plan, folder)
            samples = play_all(lab, places, measure_here, errand, addresses, config=config, timeout_s=_RUN_S)
        found += report.rows(samples, plan.condition, num_hosts, wires)
    return found


def measure_here(comm: Communicator, errand: Errand, addresses: list[str]) -> list[Sample]:
    """Runs in every rank, on its host; returns this rank's samples."""
    plan = errand.plan
    if plan.condition == "coscheduled":
        condition.raise_priority()
    with ExitStack() as stack:
        gloo = None
        if plan.baselines and baseline.has_torch():
            own = addresses[comm.rank]
            gloo = stack.enter_context(baseline.group_at(comm, errand.folder, own))
        return rounds(plan, comm, Field({"hosts": comm}, max(plan.sizes), gloo), [])
