"""Collectives for plain buffers."""

from sparkdl_ring.comm.buckets import plan_buckets
from sparkdl_ring.comm.communicator import Communicator
from sparkdl_ring.comm.compress import Compression
from sparkdl_ring.comm.connect import connect, connect_from_env, in_process
from sparkdl_ring.comm.slot import clear, current, rank, set_current, size
from sparkdl_ring.comm.work import Work

__all__ = [
    "Communicator",
    "Compression",
    "Work",
    "connect",
    "connect_from_env",
    "in_process",
    "current",
    "set_current",
    "clear",
    "rank",
    "size",
    "plan_buckets",
]
