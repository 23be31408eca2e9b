"""Runs ranks as processes of their own, each with a device of the fake machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_devices import ROOT, build_fakes
from free_ports import free_port

from sparkdl_ring.config import environment

Run = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="session")
def fakes_folder() -> Path:
    return build_fakes()


@pytest.fixture
def run_ranks(fakes_folder: Path) -> Run:
    """``run_ranks("scenario", size=2, common={...}, by_rank={1: {...}})`` gives what each rank reported."""

    def run(
        scenario: str,
        size: int = 2,
        common: dict[str, str] | None = None,
        by_rank: dict[int, dict[str, str]] | None = None,
    ) -> list[dict[str, Any]]:
        port = str(free_port())
        started = []
        for rank in range(size):
            env = _variables(fakes_folder, rank, size, port)
            started.append(_start(scenario, {**env, **(common or {}), **(by_rank or {}).get(rank, {})}))
        return [_report(process) for process in started]

    return run


def _variables(folder: Path, rank: int, size: int, port: str) -> dict[str, str]:
    return {
        **environment(),
        "RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "PYTHONPATH": f"{ROOT}:{Path(__file__).parent}",
        "SPARKDL_RING_SECRET": "of these tests",
        "FAKE_CUDA_DEVICES": "8",
        "SPARKDL_RING_COMM_CONNECT_TIMEOUT_S": "30",
        "SPARKDL_RING_COMM_TIMEOUT_S": "30",
        "SPARKDL_RING_COMM_NCCL_PATH": str(folder / "nccl" / "libnccl.so.2"),
        "SPARKDL_RING_COMM_CUDA_PATH": str(folder / "cuda" / "libcuda.so.1"),
    }


def _start(scenario: str, env: dict[str, str]) -> subprocess.Popen[str]:
    program = str(Path(__file__).with_name("device_rank.py"))
    return subprocess.Popen(
        [sys.executable, program, scenario],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _report(process: subprocess.Popen[str]) -> dict[str, Any]:
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    lines = [line for line in out.splitlines() if line.startswith("{")]
    report: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    return {**report, "exit": process.returncode, "stderr": err}
