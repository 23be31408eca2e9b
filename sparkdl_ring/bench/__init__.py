"""How fast the ring is, beside what else there is, in one run."""

from sparkdl_ring.bench.allreduce import allreduce
from sparkdl_ring.bench.api import Cell, Method, Plan, Row
from sparkdl_ring.bench.ddp import DdpPlan, DdpRow, ddp

__all__ = ["allreduce", "ddp", "Plan", "Row", "Cell", "Method", "DdpPlan", "DdpRow"]
