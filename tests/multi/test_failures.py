"""One of three ranks raises, exits, is killed or stops: a typed error naming it, nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sparkdl_ring import run
from sparkdl_ring.config import CommConfig, LaunchConfig, RingConfig
from sparkdl_ring.errors import CollectiveTimeoutError, RendezvousTimeoutError, TaskFailedError

pytestmark = [pytest.mark.multi]
SIZE, BAD = 3, 1
DEADLINE_S = 5.0
LIMIT_S = 10.0


@dataclass
class Trap:
    """An argument that springs when it is unpickled in rank ``BAD``, before the ranks have met."""

    spring: Callable[[], Any]

    def __reduce__(self) -> Any:
        return self.spring, ()


def trouble(kind: str, folder: str) -> Callable[[], None]:
    """What the bad rank does; a local function, so that it is pickled by value."""

    def happen() -> None:
        (Path(folder) / "fault").write_text(str(time.time()))
        if kind == "raise":
            raise ValueError("bad row 17")
        if kind == "exit":
            os._exit(3)
        os.kill(os.getpid(), signal.SIGKILL if kind == "kill" else signal.SIGSTOP)

    return happen


def in_rendezvous(kind: str, folder: str) -> Callable[[], int]:
    happen = trouble(kind, folder)

    def spring() -> int:
        from sparkdl_ring import log

        rank, _ = log.place() or (-1, 0)
        (Path(folder) / f"pid-{rank}").write_text(str(os.getpid()))
        if rank == BAD:
            happen()
        return rank

    return spring


def job(kind: str, moment: str, folder: str) -> Callable[[Any], int]:
    happen = trouble(kind, folder)

    def work(_: Any) -> int:
        import numpy as np

        import sparkdl_ring

        comm = sparkdl_ring.current()
        (Path(folder) / f"pid-{comm.rank}").write_text(str(os.getpid()))
        comm.allreduce(np.ones(4))
        bad = comm.rank == BAD
        if moment == "forward" and bad:
            happen()
        big = np.ones(4_000_000)
        pending = comm.allreduce_async_(big, name="grad")
        if moment == "allreduce" and bad:
            happen()
        pending.wait()
        for _ in range(1000):
            comm.allreduce_(big, name="grad")
        return comm.rank

    return work


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def launcher(request: pytest.FixtureRequest) -> Any:
    if request.param == "local":
        return "local"
    from sparkdl_ring.launch.spark import SparkLauncher

    return SparkLauncher(request.getfixturevalue("spark"))


def config(moment: str) -> RingConfig:
    connect_s = DEADLINE_S if moment == "rendezvous" else 60.0
    comm = CommConfig(timeout_s=DEADLINE_S, connect_timeout_s=connect_s)
    return RingConfig(comm=comm, launch=LaunchConfig(grace_s=2.0))


@pytest.mark.parametrize("moment", ["forward", "allreduce", "rendezvous"])
@pytest.mark.parametrize("kind", ["raise", "exit", "kill", "stop"])
def test_the_bad_rank_is_named_in_time_and_nothing_is_left(launcher, kind, moment, tmp_path):
    folder = str(tmp_path)
    argument = Trap(in_rendezvous(kind, folder)) if moment == "rendezvous" else None
    with pytest.raises(TaskFailedError) as caught:
        run(job(kind, moment, folder), argument, num_workers=SIZE, launcher=launcher, config=config(moment))
    seconds = time.time() - float((tmp_path / "fault").read_text())
    error = caught.value
    assert error.rank == BAD, str(error)
    assert seconds < LIMIT_S, f"{seconds:.1f} s from the fault to the error"
    check_cause(error, kind, launcher == "local")
    wait_for_the_end_of(tmp_path)


def test_children_of_good_ranks_end_too(launcher, tmp_path):
    """LOG-105: good ranks sit in child processes for ten minutes, one started and one forked; one fails."""

    def work():
        from sparkdl_ring import current

        rank = current().rank
        if rank == 0:
            child = subprocess.Popen(["sleep", "600"]).pid
        elif rank == 1:
            child = os.fork()
            if child == 0:
                time.sleep(600)
        else:
            while len(list(tmp_path.glob("pid-*"))) < 2:
                time.sleep(0.01)
            (tmp_path / "fault").write_text(str(time.time()))
            raise ValueError("bad")
        (tmp_path / f"draft-{rank}").write_text(str(child))
        (tmp_path / f"draft-{rank}").replace(tmp_path / f"pid-{rank}")
        os.waitpid(child, 0)

    with pytest.raises(TaskFailedError, match="bad"):
        run(work, num_workers=SIZE, launcher=launcher)
    wait_for_the_end_of(tmp_path)
    assert time.time() - float((tmp_path / "fault").read_text()) < LIMIT_S


def check_cause(error: TaskFailedError, kind: str, local: bool) -> None:
    text = str(error)
    if kind == "raise":
        assert isinstance(error.__cause__, ValueError)
        assert "bad row 17" in text
        assert "in happen" in error.remote_traceback
    elif kind == "stop":
        assert isinstance(error.__cause__, CollectiveTimeoutError | RendezvousTimeoutError), text
    elif local:
        assert ("SIGKILL" if kind == "kill" else "code 3") in text
    else:
        assert "exited unexpectedly" in text


def wait_for_the_end_of(folder: Path) -> None:
    """No process of any rank is left: by the pid each wrote down itself."""
    pids = [int(file.read_text()) for file in folder.glob("pid-*")]
    assert pids
    deadline = time.monotonic() + LIMIT_S
    while alive := [pid for pid in pids if _alive(pid)]:
        assert time.monotonic() < deadline, f"still running: {alive}"
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
