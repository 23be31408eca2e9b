"""One rank with one fake device: plays the scenario that is named and reports in one line of JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from fake_devices import FakeArray, FakeTensor, fake_framework

from sparkdl_ring.comm import Communicator, connect_from_env
from sparkdl_ring.config import environment, resolve
from sparkdl_ring.errors import ConfigError, RingError

CUDA = resolve().comm.cuda_path
DEVICE = int(environment().get("DEVICE", environment()["LOCAL_RANK"]))
Report = dict[str, Any]


def array(values: Any, dtype: Any = np.float32) -> FakeArray:
    return FakeArray(np.asarray(values, dtype), DEVICE, CUDA)


def settle(comm: Communicator) -> None:
    """Waits until all that was launched has ended: calls run in order."""
    comm.allreduce_async_(array([0])).synchronize(20.0)


def every_collective(comm: Communicator) -> Report:
    r = comm.rank
    mean = comm.allreduce(array([r, 2.0 * r]), name="mean")
    total = comm.allreduce_(array([r + 1], np.int64), "sum")
    ints = comm.allreduce(array([r, 3 * r], np.int32), "mean")
    given = comm.broadcast_(array([r, r], np.int16), root=1)
    fresh = comm.broadcast(array([r]), root=comm.size - 1)
    rows = comm.allgather(array(np.full((r + 1, 2), r)))
    part = comm.reducescatter(array(np.arange(3 * comm.size - 1)), "sum")
    settle(comm)
    results = (mean, total, ints, given, fresh, rows, part)
    return {"values": [x.read() for x in results], "reasons": list(comm.devices.reasons.values())}


def tensors(comm: Communicator) -> Report:
    fake_framework(stream=0)
    tensor = FakeTensor(np.full(3, comm.rank + 1.0, np.float32), DEVICE, CUDA)
    work = comm.allreduce_async_(tensor, "sum", name="gradient")
    work.wait()
    work.synchronize(20.0)
    comm.devices.register(tensor)
    fresh = comm.broadcast(tensor, root=0)
    settle(comm)
    refused = [refusal(comm, host, device) for host, device in unusable()]
    return {"values": [tensor.read(), fresh.read()], "done": work.done(), "refused": refused}


def unusable() -> list[tuple[Any, Any]]:
    """Pairs of equal arrays, in host memory and on the device, of types that are not reduced."""
    values = [np.ones(2, bool), np.ones(2, np.complex64)]
    return [(v, FakeTensor(v, DEVICE, CUDA)) for v in values]


def refusal(comm: Communicator, host: Any, device: Any) -> list[str]:
    texts = []
    for array in (host, device):
        try:
            comm.allreduce(array, "sum")
        except ConfigError as error:
            texts.append(str(error))
    return texts


def mismatch(comm: Communicator) -> Report:
    comm.allreduce_async_(array(np.zeros(2 + comm.rank)), name="x").synchronize(20.0)
    return {}


def host_and_device(comm: Communicator) -> Report:
    if comm.rank == 0:
        comm.allreduce(np.zeros(2, np.float32), "sum")
    else:
        comm.allreduce_async_(array([0, 0]), "sum").synchronize(20.0)
    return {}


def killed(comm: Communicator) -> Report:
    settle(comm)
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.allreduce_async_(array([1]), name="after").synchronize(20.0)
    return {}


def aborted(comm: Communicator) -> Report:
    settle(comm)
    if comm.rank == 1:
        comm.abort("had enough")
    comm.allreduce_async_(array([1])).synchronize(20.0)
    return {}


def twice(comm: Communicator) -> Report:
    settle(comm)
    settle(comm)
    return {}


def forked(comm: Communicator) -> Report:
    settle(comm)
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (lambda: settle(comm), comm.devices.close):
            try:
                call()
            except RingError as error:
                refused += "fork" in str(error)
        os._exit(refused)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    settle(comm)
    return {"child": status}


def again_and_again(comm: Communicator) -> Report:
    """Sets the device up and takes it down, and counts the threads of this process."""
    counts = []
    for _ in range(20):
        settle(comm)
        comm.barrier()
        comm.devices.close()
        comm.barrier()
        counts.append(len(os.listdir("/proc/self/task")))
    return {"threads": counts, "descriptors": len(os.listdir("/proc/self/fd"))}


SCENARIOS: dict[str, Callable[[Communicator], Report]] = {
    f.__name__: f
    for f in (
        every_collective,
        tensors,
        mismatch,
        host_and_device,
        killed,
        aborted,
        twice,
        forked,
        again_and_again,
    )
}


def main() -> None:
    try:
        with connect_from_env() as comm:
            report = SCENARIOS[sys.argv[1]](comm)
    except RingError as error:
        report = {"kind": type(error).__name__, "blamed": error.rank, "text": str(error)}
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
