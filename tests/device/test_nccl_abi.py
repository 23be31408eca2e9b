"""Our declarations of NCCL are those of a real nccl.h, where one is at hand, and a real library opens."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_devices import ROOT

from sparkdl_ring.config import environment

# What nccl.h needs of CUDA: names only.
RUNTIME = """
#pragma once
#include <stddef.h>
#define CUDART_VERSION 13000
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
"""


def package() -> Path:
    """The folder of the nvidia.nccl package, named by ``SPARKDL_RING_TEST_NCCL`` or installed."""
    named = environment().get("SPARKDL_RING_TEST_NCCL", "")
    if named:
        return Path(named)
    try:
        spec = importlib.util.find_spec("nvidia.nccl")
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("no NCCL here: install nvidia-nccl-cu13, or name its folder by SPARKDL_RING_TEST_NCCL")
    return Path(spec.submodule_search_locations[0])


def test_our_declarations_are_those_of_nccl(tmp_path: Path) -> None:
    header = package() / "include"
    (tmp_path / "cuda_runtime.h").write_text(RUNTIME)
    for name in ("cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"):
        (tmp_path / name).write_text("#pragma once\n")
    command = [shutil.which("c++") or "g++", "-std=c++17", "-fsyntax-only", f"-I{tmp_path}", f"-I{header}"]
    source = ROOT / "native" / "fake_nccl" / "abi_check.cc"
    subprocess.run([*command, f"-I{ROOT / 'native'}", str(source)], check=True, timeout=100)


def test_a_real_nccl_without_a_gpu_gives_way_to_the_host(run_ranks) -> None:
    """The fake driver with the real NCCL: its init fails, and every rank says so with NCCL's own words."""
    path = str(package() / "lib" / "libnccl.so.2")
    common = {"SPARKDL_RING_COMM_NCCL_PATH": path, "NCCL_SOCKET_IFNAME": "lo"}
    for report in run_ranks("twice", 2, common):
        assert report.get("kind") == "CollectiveError", report
        assert "unhandled cuda error" in report["text"]
        assert "last error: " in report["text"]
