"""The other end of :mod:`sparkdl_ring.launch.local`: one rank in a fresh process."""

from __future__ import annotations

import faulthandler
import os
import pickle
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from sparkdl_ring.launch.device import Grant, Seat
from sparkdl_ring.launch.guard import die_with_parent, guard_this_process
from sparkdl_ring.launch.task import RankFailedError, TaskSpec, run_rank
from sparkdl_ring.log import get_logger
from sparkdl_ring.rendezvous import FileRendezvous

_log = get_logger(__name__)
FAILED = 1

BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from sparkdl_ring.launch.local_child import main; main()"
)
"""What the fresh interpreter runs: the import path comes first, so that it finds what its parent finds."""


@dataclass(frozen=True)
class Order:
    """What one child is told, through its standard input.

    Args:
        spec: The spec of the launch.
        rank: Own rank.
        folder: A folder that only this user can read: the call, the meeting point, the board and the results.
    """

    spec: TaskSpec
    rank: int
    folder: str


def call_path(folder: Path) -> Path:
    """Where the pickled call lies."""
    return folder / "call"


def result_path(folder: Path, rank: int) -> Path:
    """Where a rank's pickled result lies once it is there."""
    return folder / f"result-{rank}"


def main() -> None:
    """Plays the rank that standard input names, then ends this process."""
    parent, order = pickle.load(sys.stdin.buffer)
    die_with(parent)
    guard_this_process()
    faulthandler.enable()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os._exit(_end(_play(order)))


def die_with(parent: int) -> None:
    """Has the kernel kill this process when its parent ends, and ends at once when it has ended already."""
    die_with_parent()
    if os.getppid() != parent:
        os._exit(FAILED)


def _play(order: Order) -> int:
    folder = Path(order.folder)
    spec = replace(order.spec, call=call_path(folder).read_bytes())
    rendezvous = FileRendezvous(folder / "meet", order.rank, spec.size, spec.run_id)
    seat = Seat(order.rank, spec.size)
    try:
        result = run_rank(spec, rendezvous, Grant(near=seat, host=seat))
    except RankFailedError as failed:
        _log.debug("rank %d failed: %s", order.rank, failed)
        return FAILED
    target = result_path(folder, order.rank)
    draft = target.with_suffix(".draft")
    draft.write_bytes(result)
    draft.replace(target)
    return 0


def _end(code: int) -> int:
    """Runs exit handlers and flushes as Python would, but does not wait for threads the user left running."""
    stray = [t.name for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon]
    if stray:
        _log.warning("threads still run at the end of the task and are ended: %s", ", ".join(stray))
    import atexit

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code
