"""Shared memory: neither an allocation nor a system call for a chunk. Counted, not timed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sparkdl_ring.config import environment

pytestmark = [pytest.mark.multi]
ROOT = Path(__file__).resolve().parents[2]
SMALL_MB, LARGE_MB, CALLS = 4, 64, 10
CHUNK_BYTES = 1 << 20  # no chunk is larger
RANKS = f"""
import ctypes, json
import numpy as np
from test_soak import pair, together
counted = ctypes.CDLL(None).counted
counted.restype = ctypes.c_long
ranks = pair("shm", "counted")
def per_call(megabytes):
    arrays = [np.ones(megabytes << 18, np.float32) for _ in ranks]
    def work(comm):
        for _ in range({CALLS}):
            comm.allreduce_(arrays[comm.rank], "max")
    together(ranks, work)
    before = [counted(kind) for kind in range(3)]
    together(ranks, work)
    return [(counted(kind) - before[kind]) / {CALLS} for kind in range(3)]
print(json.dumps([per_call({SMALL_MB}), per_call({LARGE_MB})]))
for comm in ranks:
    comm.close()
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_nothing_grows_with_the_number_of_chunks(tmp_path):
    shim = tmp_path / "counted.so"
    source = Path(__file__).with_name("counted.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(source), "-o", str(shim), "-ldl"], check=True)
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "faults"), str(ROOT / "tests" / "multi")])
    answer = subprocess.run(
        [sys.executable, "-c", RANKS],
        env={**environment(), "PYTHONPATH": path, "LD_PRELOAD": str(shim), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    small, large = json.loads(answer.stdout)
    more_chunks = 2 * (LARGE_MB - SMALL_MB) * (1 << 20) / CHUNK_BYTES  # of both ranks
    for name, before, after in zip(("allocations", "system calls"), small, large, strict=False):
        assert after - before < more_chunks / 40, f"{name} for a call: {before} with 4 MB, {after} with 64 MB"
