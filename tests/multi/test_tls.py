"""TCP links with TLS and several streams, as settings of a run."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sparkdl_ring import current, run
from sparkdl_ring.comm.connect import connect
from sparkdl_ring.config import CommConfig, environment, resolve
from sparkdl_ring.errors import ConfigError, RendezvousError
from sparkdl_ring.rendezvous import FileRendezvous
from sparkdl_ring.world import World

pytestmark = [pytest.mark.multi]
ROOT = Path(__file__).resolve().parents[2]
SECRET = bytes(range(32))
TCP = CommConfig(transport="tcp", timeout_s=20.0, connect_timeout_s=20.0)


def play(folder, rank, config, secret=SECRET):
    """Sums a small and a large array with one peer; the sums, or what went wrong."""
    try:
        meeting = FileRendezvous(folder, rank, 2, "run")
        with connect(World(rank, 2, run_id="run"), meeting, config, secret) as ring:
            sums = [ring.allreduce(np.full(n, rank + 1.0, np.float32), "sum") for n in (1, 1_000_003)]
            return [bool((total == 3.0).all()) for total in sums]
    except RendezvousError as error:
        return error


def both(folder, first, second=None, secret=SECRET):
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(play, folder, 0, first)
        two = pool.submit(play, folder, 1, second or first, secret)
        return one.result(), two.result()


@pytest.mark.parametrize(
    "changes",
    [
        {"tls": True},
        {"tls": True, "streams": 4},
        {"streams": 2},
        {"socket_buffer_bytes": 65536},
    ],
    ids=str,
)
def test_sums_are_right_whatever_carries_them(tmp_path, changes):
    assert both(tmp_path, replace(TCP, **changes)) == ([True, True], [True, True])


@pytest.mark.parametrize("changes", [{"comm.tls": True}, {"comm.tls": True, "comm.streams": 4}], ids=str)
def test_processes_sum_in_place_under_tls(changes):
    def sums():
        comm = current()
        arrays = [np.full(count, comm.rank + 1.0, np.float32) for count in (1, 3, 5, 65_537, 1_000_003)]
        for array in arrays:
            comm.allreduce_(array, "sum")
        return set(comm.transports.values()), [bool((array == 6.0).all()) for array in arrays]

    config = resolve({"comm.transport": "tcp", "comm.timeout_s": 30.0, **changes}, environ={})
    assert run(sums, num_workers=3, launcher="local", config=config) == [({"tcp"}, [True] * 5)] * 3


def test_a_rank_without_tls_is_refused_in_words_on_both_ends(tmp_path):
    first, second = both(tmp_path, replace(TCP, tls=True), TCP)
    for error in (first, second):
        assert isinstance(error, RendezvousError)
        assert "comm.tls" in str(error)
        assert "set it to the same" in str(error)


def test_another_secret_is_refused_under_tls(tmp_path):
    quick = replace(TCP, tls=True, connect_timeout_s=3.0)
    first, second = both(tmp_path, quick, secret=bytes(32))
    assert isinstance(first, RendezvousError)
    assert isinstance(second, RendezvousError)


def test_the_settings_come_from_the_environment():
    comm = resolve(environ={"SPARKDL_RING_COMM_TLS": "true", "SPARKDL_RING_COMM_STREAMS": "4"}).comm
    assert (comm.tls, comm.streams) == (True, 4)


@pytest.mark.parametrize("changes", [{"streams": 0}, {"streams": 17}], ids=str)
def test_settings_that_cannot_be_are_refused(tmp_path, changes):
    with pytest.raises(ConfigError):
        connect(World(0, 2), FileRendezvous(tmp_path, 0, 2, "run"), replace(TCP, **changes), SECRET)


WITHOUT_OPENSSL = """
import sys
from sparkdl_ring.comm.connect import connect
from sparkdl_ring.config import CommConfig
from sparkdl_ring.rendezvous import FileRendezvous
from sparkdl_ring.world import World

connect(World(0, 2), FileRendezvous(sys.argv[1], 0, 2, "run"), CommConfig(tls=True), bytes(32))
"""


def test_a_host_without_openssl_says_so_before_anybody_waits(tmp_path):
    libraries, folder = tmp_path / "lib", tmp_path / "meeting"
    libraries.mkdir()
    folder.mkdir()
    for name in ("libssl.so.3", "libssl.so.1.1"):
        (libraries / name).write_bytes(b"")
    answer = subprocess.run(
        [sys.executable, "-c", WITHOUT_OPENSSL, str(folder)],
        env={**environment(), "PYTHONPATH": str(ROOT), "LD_LIBRARY_PATH": str(libraries)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 1
    last = answer.stderr.splitlines()[-1]
    assert last.startswith("sparkdl_ring.errors.MissingDependencyError: comm.tls needs OpenSSL"), (
        answer.stderr
    )
    assert "install it on every host" in last
    assert not list(folder.iterdir())
