"""Ports are held from their choice to their use: LOG-108."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sparkdl_ring.comm.connect import connect
from sparkdl_ring.config import CommConfig
from sparkdl_ring.errors import ConfigError
from sparkdl_ring.rendezvous import FileRendezvous
from sparkdl_ring.world import World

pytestmark = [pytest.mark.multi]

SECRET = bytes(32)
TIMEOUT_S = 30.0


def play(folder, rank, size, job, port_range=""):
    """One rank of a job: connects, sums once, leaves."""
    config = CommConfig(
        transport="tcp", timeout_s=TIMEOUT_S, connect_timeout_s=TIMEOUT_S, port_range=port_range
    )
    meeting = FileRendezvous(folder, rank, size, job)
    with connect(World(rank, size, run_id=job), meeting, config, SECRET) as ring:
        return float(ring.allreduce(np.ones(3, np.float32), "sum")[0])


def run_jobs(folder, jobs, size, port_range=""):
    with ThreadPoolExecutor(len(jobs) * size) as pool:
        ranks = [
            pool.submit(play, folder, rank, size, job, port_range) for job in jobs for rank in range(size)
        ]
        return [rank.result() for rank in ranks]


def free_range(count):
    """A range of ports that nobody listens on right now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        first = min(probe.getsockname()[1], 65535 - count)
    return f"{first}-{first + count - 1}"


def test_fifty_times_four_ranks_find_a_port(tmp_path):
    for turn in range(50):
        assert run_jobs(tmp_path, [f"job-{turn}"], 4) == [4.0] * 4


def test_two_jobs_at_once_share_a_range_of_ports(tmp_path):
    for turn in range(10):
        jobs = [f"a-{turn}", f"b-{turn}"]
        assert run_jobs(tmp_path, jobs, 2, free_range(40)) == [2.0] * 4


def test_a_range_that_is_used_up_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        config = CommConfig(transport="tcp", connect_timeout_s=5.0, port_range=f"{port}-{port}")
        with pytest.raises(ConfigError, match=rf"no free port in {port}-{port} on 127\.0\.0\.1"):
            connect(World(0, 2, run_id="x"), FileRendezvous(tmp_path, 0, 2, "x"), config, SECRET)


def test_a_range_that_is_none_is_refused(tmp_path):
    config = CommConfig(transport="tcp", port_range="high ones")
    with pytest.raises(ConfigError, match="40000-40100"):
        connect(World(0, 2, run_id="y"), FileRendezvous(tmp_path, 0, 2, "y"), config, SECRET)


def test_who_is_refused_while_ranks_meet_is_logged(tmp_path, caplog):
    port = int(free_range(1).partition("-")[0])
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(play, tmp_path, 0, 2, "strangers", f"{port}-{port}")
        stranger = knock(port, time.monotonic() + TIMEOUT_S)
        with stranger:
            stranger.sendall(b"\xff" * 4000)  # waits at the door before rank 1 comes
            second = pool.submit(play, tmp_path, 1, 2, "strangers")
            assert [first.result(), second.result()] == [2.0, 2.0]
    assert "rank 0 refused connections while ranks met: 1 without the secret" in caplog.text


def knock(port, deadline):
    """A connection, as soon as somebody listens."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
