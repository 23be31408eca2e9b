"""The conditions of a measurement: raised priority with rests, or a busy loop on each core."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sparkdl_ring.errors import ConfigError

# Not real-time: a spinning library at real-time priority starves the machine, and with it the measurement.
_RAISED = -20
_BUSY = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    for _ in range(100_000):
        pass
"""


def raise_priority() -> None:
    """Raises the priority of every thread of this process, and so of those it starts from now on.

    Raises:
        ConfigError: The system does not let this user.
    """
    for thread in Path("/proc/self/task").iterdir():
        try:
            os.setpriority(os.PRIO_PROCESS, int(thread.name), _RAISED)
        except PermissionError as error:
            raise ConfigError("co-scheduled samples need the right to raise priorities (root)") from error


def rest(since: float, plan_coscheduled: bool) -> None:
    """After a sample in the co-scheduled condition: sleeps as long as it took.

    Args:
        since: ``time.perf_counter()`` at the sample's begin.
        plan_coscheduled: Whether that is the condition.
    """
    if plan_coscheduled:
        time.sleep(time.perf_counter() - since)


@contextmanager
def busy_cores(wanted: bool) -> Iterator[None]:
    """A busy loop on each core, at normal priority, while the block runs."""
    num_loops = num_cores() if wanted else 0
    command = [sys.executable, "-S", "-c", _BUSY, str(os.getpid())]
    loops = [subprocess.Popen(command) for _ in range(num_loops)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))
