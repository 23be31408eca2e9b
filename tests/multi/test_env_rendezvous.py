"""Two real processes that know each other only by torchrun's variables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from free_ports import free_port

from sparkdl_ring.config import environment

pytestmark = [pytest.mark.multi]
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import numpy as np
from sparkdl_ring.comm import connect_from_env

with connect_from_env() as comm:
    total = comm.allreduce(np.full(5, comm.rank + 1.0), "sum")
    print(comm.rank, comm.size, comm.world.local_rank, comm.world.run_id, total.tolist())
"""


def start(rank, **changes):
    env = {
        "RANK": str(rank),
        "WORLD_SIZE": "2",
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "TORCHELASTIC_RUN_ID": "job-7",
        "SPARKDL_RING_COMM_CONNECT_TIMEOUT_S": "30",
        "PYTHONPATH": str(ROOT),
        **changes,
    }
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env={**environment(), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("extra", [{}, {"SPARKDL_RING_SECRET": "s3"}])
def test_ranks_meet_by_variables(extra):
    port = str(free_port())
    ranks = [start(rank, MASTER_PORT=port, **extra) for rank in range(2)]
    answers = [process.communicate(timeout=60) for process in ranks]
    for rank, (out, errors) in enumerate(answers):
        assert out == f"{rank} 2 {rank} job-7 [3.0, 3.0, 3.0, 3.0, 3.0]\n", errors


def test_ranks_with_other_secrets_do_not_meet():
    port = str(free_port())
    short = {"SPARKDL_RING_COMM_CONNECT_TIMEOUT_S": "3", "MASTER_PORT": port}
    ranks = [start(rank, SPARKDL_RING_SECRET=f"secret-{rank}", **short) for rank in range(2)]
    (_, zero), (_, one) = [process.communicate(timeout=60) for process in ranks]
    assert "RendezvousTimeoutError" in zero
    assert "not of run" in one
    assert [process.returncode for process in ranks] == [1, 1]


def test_torchrun_itself():
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    script = ROOT / "tests" / "multi" / "torchrun_ranks.py"
    answer = subprocess.run(
        [*command, f"--master-port={free_port()}", str(script)],
        env={**environment(), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert sorted(line for line in answer.stdout.splitlines() if line.startswith("rank")) == [
        "rank 0 of 2: [3.0, 3.0]",
        "rank 1 of 2: [3.0, 3.0]",
    ]
