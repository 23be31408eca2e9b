"""Ends the processes that a rank started when the rank itself ends, however it ends.

A rank that is killed cannot clean up, and its children (data loaders, tools) would live on as orphans. So a
rank leads a process group of its own, and a tiny process outside that group waits for the rank's end and
then kills what is left of the group.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress

from sparkdl_ring.log import get_logger

_log = get_logger(__name__)
_PR_SET_PDEATHSIG = 1

_GUARD = """
import os, select, signal, sys, time
rank = int(sys.argv[1])
try:
    end = os.pidfd_open(rank)
    print(flush=True)
    select.select([end], [], [])
except OSError:
    print(flush=True)
    while os.getppid() == rank:
        time.sleep(0.2)
try:
    os.killpg(rank, signal.SIGKILL)
except OSError:
    pass
"""


def die_with_parent() -> None:
    """Has the kernel kill this process when its parent ends (Linux)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def guard_this_process() -> None:
    """Makes this process the leader of its group and has the group killed after its end."""
    try:
        with suppress(PermissionError):  # it leads a session, and so its group, already
            os.setpgid(0, 0)
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _GUARD, str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        _log.warning("processes that this rank starts may outlive it: %s", error)
        return
    assert guard.stdout is not None
    with guard.stdout:
        guard.stdout.readline()  # it watches from here on
    guard.returncode = 0  # it outlives this process by design: not a child to wait for
