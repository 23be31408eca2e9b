"""Checks the device collectives on one real GPU and prints figures: ``make gpu-check``.

Every section runs in processes of its own, so that one that fails or hangs spoils no other. What cannot be
checked on this machine is skipped with the reason. Ends with 1 when something that was checked is wrong.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from cuda import Gpu, Unavailable

from sparkdl_ring.config import environment, resolve

HERE = Path(__file__).resolve().parent
SHARING_VERSION = 23000
LONGEST_S = 240


@dataclass(frozen=True)
class Section:
    """One thing to check.

    Args:
        title: For people.
        program: The file and its arguments.
        size: Number of ranks, all on device 0.
        needs: ``nccl``, ``sharing`` (NCCL that lets ranks share a GPU) or ``torch``.
        env: Variables of its ranks.
        lost: Ranks that are expected to be killed.
    """

    title: str
    program: tuple[str, ...]
    size: int = 1
    needs: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    lost: tuple[int, ...] = ()


SHARE = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0"}
RANK = "gpu_rank.py"


def shared(title: str, part: str, check: str = "checked", lost: tuple[int, ...] = ()) -> Section:
    """Two ranks that share the GPU by NCCL."""
    program = (RANK, part, "nccl", check)
    return Section(f"two ranks share the GPU{title}", program, 2, ("nccl", "sharing"), SHARE, lost)


SECTIONS = (
    Section("one rank by NCCL: values and time", (RANK, "figures", "nccl", "checked"), needs=("nccl",)),
    Section("one rank by NCCL: every type", (RANK, "kinds", "nccl", "checked"), needs=("nccl",)),
    Section("one rank by NCCL: 2^31 elements", (RANK, "large", "nccl", "checked"), needs=("nccl",)),
    Section("one rank beside plain NCCL", (RANK, "against_raw", "nccl", "checked"), needs=("nccl",)),
    Section("cost of a launch to the host", (RANK, "launches", "nccl", "checked"), needs=("nccl",)),
    Section("order on streams, no host in between", (RANK, "streams", "nccl", "checked"), needs=("nccl",)),
    Section("overlap with a kernel, one rank by NCCL", (RANK, "overlap", "nccl", "checked"), needs=("nccl",)),
    Section("two ranks on one GPU, staged: values and time", (RANK, "figures", "staged", "checked"), 2),
    Section("two ranks on one GPU, staged: every type", (RANK, "kinds", "staged", "checked"), 2),
    Section("two ranks on one GPU, staged: order on streams", (RANK, "streams", "staged", "checked"), 2),
    Section("two ranks on one GPU, staged: overlap", (RANK, "overlap", "staged", "checked"), 2),
    Section("two staged ranks, one is killed", (RANK, "loss", "staged", "checked"), 2, lost=(1,)),
    shared(" by NCCL: values and time", "figures"),
    shared(" by NCCL: every type", "kinds"),
    shared(", beside plain NCCL, compared over the host", "against_raw"),
    shared(", beside plain NCCL, not compared", "against_raw", "unchecked"),
    shared(" by NCCL: overlap", "overlap"),
    shared(" by NCCL, one is killed", "loss", lost=(1,)),
    Section("torch: tensors, streams, DDP, one rank by NCCL", ("torch_rank.py",), needs=("nccl", "torch")),
    Section("torch: tensors, streams, DDP, two staged ranks", ("torch_rank.py",), 2, ("torch",)),
)


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def nccl_version() -> int:
    """The version of the NCCL that would be used; raises :class:`Unavailable` when there is none."""
    import ctypes

    from gpu_rank import nccl_file

    version = ctypes.c_int()
    try:
        library = ctypes.CDLL(nccl_file())
        library.ncclGetVersion(ctypes.byref(version))
    except (OSError, AttributeError) as error:
        raise Unavailable(f"no NCCL: {error}; pip install nvidia-nccl-cu12 (or -cu13)") from None
    return version.value


def abilities() -> dict[str, str]:
    """What this machine can do: an empty text, or why it cannot."""
    found = {"nccl": "", "sharing": "", "torch": ""}
    try:
        version = nccl_version()
        say(f"NCCL {version // 10000}.{version // 100 % 100}.{version % 100}")
        if version < SHARING_VERSION:
            found["sharing"] = "NCCL before 2.30 refuses ranks that share a GPU"
    except Unavailable as reason:
        found["nccl"] = found["sharing"] = str(reason)
    if importlib.util.find_spec("torch") is None:
        found["torch"] = "torch is not installed"
    else:
        import torch

        if not torch.cuda.is_available():
            found["torch"] = f"torch {torch.__version__} sees no GPU"
    return found


def free_port() -> int:
    """A port whose successor is free too; the rendezvous listens on the successor."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
            try:
                socket.create_server(("127.0.0.1", port + 1)).close()
            except OSError:
                continue
            return port


def start(section: Section, rank: int, shared: dict[str, str]) -> subprocess.Popen[str]:
    """One rank, as a process group of its own."""
    env = {
        **environment(),
        **shared,
        **section.env,
        "RANK": str(rank),
        "WORLD_SIZE": str(section.size),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(section.size),
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), str(HERE)]),
    }
    program = [sys.executable, str(HERE / section.program[0]), *section.program[1:]]
    return subprocess.Popen(
        program, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def run(section: Section) -> bool:
    """Plays a section and prints what it found; false when something was wrong."""
    shared = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "SPARKDL_RING_SECRET": secrets.token_hex(16),
    }
    ranks = [start(section, rank, shared) for rank in range(section.size)]
    good = True
    for rank, process in enumerate(ranks):
        try:
            out, err = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            for other in ranks:
                os.killpg(other.pid, signal.SIGKILL)
            out, err = process.communicate()
            err += f"\nstill running after {LONGEST_S} s"
        for line in out.splitlines():
            say("    " + (", ".join(f"{k}: {v}" for k, v in json.loads(line).items())))
        wanted = -signal.SIGKILL if rank in section.lost else 0
        if process.returncode != wanted:
            good = False
            say(f"    rank {rank} ended with {process.returncode}:")
            say("\n".join("      " + line for line in err.strip().splitlines()[-15:]))
    return good


def main() -> int:
    try:
        say(f"GPU: {Gpu(0, resolve().comm.cuda_path).name}")
    except Unavailable as reason:
        say(f"skipped: {reason}")
        return 0
    able = abilities()
    wrong = []
    for section in SECTIONS:
        missing = next((able[need] for need in section.needs if able[need]), "")
        say(f"\n{section.title}")
        if missing:
            say(f"    skipped: {missing}")
        elif not run(section):
            wrong.append(section.title)
    say(f"\nwrong: {'; '.join(wrong)}" if wrong else "\nall that could be checked is right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
