"""Open MPI and MPICH, where they are installed: a C program of ours, in processes of their own."""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from sparkdl_ring.bench.api import REWRITTEN_FROM_BYTES, Cell, Method, Plan, Sample
from sparkdl_ring.errors import ConfigError
from sparkdl_ring.log import get_logger

LIMIT_S = 600.0
_SOURCE = Path(__file__).with_name("mpi_allreduce.c")
_log = get_logger(__name__)


@dataclass(frozen=True)
class Program:
    """The compiled program under one MPI.

    Args:
        library: ``openmpi`` or ``mpich``.
        mpirun: The command that starts it.
        binary: The compiled program.
        plan: What is measured.
    """

    library: str
    mpirun: str
    binary: Path
    plan: Plan

    def run(self, num_ranks: int) -> list[Sample]:
        """One round: a sample of each size. Times are the maximum over its ranks already.

        An MPI that fails or takes longer than the limit leaves no rows; the log tells why.
        """
        coscheduled = int(self.plan.condition == "coscheduled")
        numbers = [self.plan.sample_s, coscheduled, REWRITTEN_FROM_BYTES, *self.plan.sizes]
        start = [self.mpirun, *_options(self.library), "-n", str(num_ranks), str(self.binary)]
        begin = time.monotonic()
        try:
            done = subprocess.run(
                [*start, *map(str, numbers)], capture_output=True, text=True, timeout=LIMIT_S / 2, check=True
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            said = (error.stderr or b"")[-500:]
            seconds = time.monotonic() - begin
            _log.warning("%s gave no rows after %.0f s: %s %s", self.library, seconds, error, said)
            return []
        lines = [line.split() for line in done.stdout.splitlines()]
        method = Method(self.library, call="c")
        return [Sample(Cell("float32", int(size)), method, float(s)) for size, s in lines]


def programs(plan: Plan, folder: Path) -> list[Program]:
    """Compiles the program for each ``mpirun`` of the plan, with the ``mpicc`` beside it.

    Args:
        plan: Names the commands; MPI has no half types, so that only float32 is measured.
        folder: Where the binaries go.

    Raises:
        ConfigError: A command is not there or cannot compile.
    """
    if "float32" not in plan.dtypes:
        return []
    return [_compile(plan, mpirun, folder) for mpirun in plan.mpi]


def found() -> tuple[str, ...]:
    """The ``mpirun`` on the path, when there is one with its compiler."""
    mpirun = shutil.which("mpirun")
    return (mpirun,) if mpirun and Path(mpirun).with_name("mpicc").exists() else ()


def _compile(plan: Plan, mpirun: str, folder: Path) -> Program:
    compiler = Path(mpirun).with_name("mpicc")
    try:
        version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=True).stdout
        library = "openmpi" if "open" in version.lower() else "mpich"
        binary = folder / f"{library}_allreduce"
        command = [str(compiler), "-O3", "-march=native", str(_SOURCE), "-o", str(binary)]
        subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or ""
        raise ConfigError(f"{mpirun} cannot be measured: {error} {said}") from error
    return Program(library, mpirun, binary, plan)


def _options(library: str) -> list[str]:
    if library != "openmpi":
        return []
    return ["--oversubscribe", "--bind-to", "none", "--allow-run-as-root"]
