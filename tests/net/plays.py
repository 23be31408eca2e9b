"""What ranks do on the hosts of the lab; module-level, because it travels by name."""

from __future__ import annotations

import os
import time

import numpy as np

from sparkdl_ring.errors import CollectiveError


def everything(comm):
    """All collectives once; raises where a result is wrong. Returns the transports."""
    rank, size = comm.rank, comm.size
    total = size * (size + 1) / 2
    for count in (1, 1000, 300_000):
        got = comm.allreduce(np.full(count, rank + 1.0, np.float32), "sum")
        assert (got == total).all(), f"allreduce of {count}"
    assert (comm.broadcast(np.full(5000, rank, np.int64), root=size - 1) == size - 1).all()
    gathered = comm.allgather(np.full((rank + 1, 3), rank, np.int32))
    assert gathered.shape == (int(total), 3)
    part = comm.reducescatter(np.ones(4 * size, np.float64), "sum")
    assert (part == size).all()
    comm.barrier()
    assert comm.allgather_object({"rank": rank}) == [{"rank": r} for r in range(size)]
    return dict(comm.transports)


def sum_for_ever(comm, ready_file):
    """Sums until a peer is lost; returns the error and the seconds that the last call took."""
    ones = np.ones(100_000, np.float32)
    comm.allreduce(ones, "sum")
    if comm.rank == 0:
        with open(ready_file, "w") as file:
            file.write(str(os.getpid()))
    begin = time.monotonic()
    try:
        while True:
            begin = time.monotonic()
            comm.allreduce(ones, "sum")
    except CollectiveError as error:
        return error, time.monotonic() - begin
