"""What each rank process does: every contender in turn, round after round."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from sparkdl_ring.bench import baseline, buffers, condition, mpi
from sparkdl_ring.bench.api import REWRITTEN_FROM_BYTES, Cell, Contender, Plan, Sample
from sparkdl_ring.bench.contenders import Field, NativeRing
from sparkdl_ring.comm import Communicator, current
from sparkdl_ring.comm.regroup import regroup
from sparkdl_ring.config import CommConfig
from sparkdl_ring.errors import ConfigError

_MAX_CALLS = 2000
_WARM_UP_CALLS = 3


@dataclass(frozen=True)
class Errand:
    """What a rank is sent to do.

    Args:
        plan: The measurement.
        folder: A temporary folder that all ranks see.
    """

    plan: Plan
    folder: str


def measure(errand: Errand) -> list[Sample]:
    """Runs in every rank; returns this rank's samples, in the same order on all."""
    plan, comm = errand.plan, current()
    if plan.condition == "coscheduled":
        condition.raise_priority()
    with ExitStack() as stack:
        gloo = None
        if plan.baselines and baseline.has_torch():
            gloo = stack.enter_context(baseline.default_group(comm, errand.folder))
        comms = {name: stack.enter_context(_over(comm, name)) for name in plan.transports}
        programs = mpi.programs(plan, Path(errand.folder)) if comm.rank == 0 else []
        return rounds(plan, comm, Field(comms, max(plan.sizes), gloo), programs)


def _over(comm: Communicator, transport: str) -> Communicator:
    """The same ranks over another transport. Collective."""
    tls = transport == "tls"
    changes: dict[str, Any] = {"tls": True} if tls else {}
    if not changes.keys() <= {item.name for item in fields(CommConfig)}:
        raise ConfigError("this build has no TLS to measure")
    config = CommConfig(transport="tcp" if tls else transport, interface="127.0.0.1", **changes)
    group = regroup(comm, config)
    assert group is not None  # every rank is a member
    return group


def rounds(plan: Plan, comm: Communicator, field: Field, programs: Sequence[mpi.Program]) -> list[Sample]:
    """All rounds of the plan; every contender takes its turn in each.

    Args:
        plan: The measurement.
        comm: The ranks, for agreeing on numbers of calls and for starting together.
        field: The contenders.
        programs: MPI programs, which rank 0 runs while the others sleep.
    """
    samples: list[Sample] = []
    for number in range(plan.rounds):
        begin = time.monotonic()
        samples += _round(plan, comm, field)
        found = [sample for program in programs for sample in program.run(comm.size)]
        samples += comm.broadcast_object(found, timeout_s=mpi.LIMIT_S)
        if comm.rank == 0:
            seconds = time.monotonic() - begin
            sys.stdout.write(f"round {number + 1} of {plan.rounds}: {seconds:.0f} s\n")
            sys.stdout.flush()
    return samples


def _round(plan: Plan, comm: Communicator, field: Field) -> list[Sample]:
    samples = []
    for dtype in plan.dtypes:
        for num_bytes in plan.sizes:
            cell = Cell(dtype, num_bytes)
            for contender in field.line_up(cell):
                samples.append(_sample(plan, comm, contender, cell))
    return samples


def _sample(plan: Plan, comm: Communicator, contender: Contender, cell: Cell) -> Sample:
    """One sample, after a warm-up whose results are checked and which tells how many calls a sample has."""
    _check(comm, contender, cell)
    warm = median(_rewritten(comm, contender, cell) for _ in range(_WARM_UP_CALLS))
    num_calls = comm.broadcast_object(max(1, min(_MAX_CALLS, int(plan.sample_s / max(warm, 1e-7)))))
    begin = time.perf_counter()
    if cell.num_bytes < REWRITTEN_FROM_BYTES:
        seconds = _in_a_row(comm, contender, cell, num_calls)
    else:
        seconds = sum(_rewritten(comm, contender, cell) for _ in range(num_calls)) / num_calls
    condition.rest(begin, plan.condition == "coscheduled")
    return Sample(cell, contender.method, seconds)


def _check(comm: Communicator, contender: Contender, cell: Cell) -> None:
    buffers.fill(contender.words, cell, comm.rank + 1.0)
    comm.barrier()
    contender.call()
    expected = comm.size * (comm.size + 1) / 2
    buffers.check(contender.words, cell, expected, contender.method.name)


def _rewritten(comm: Communicator, contender: Contender, cell: Cell) -> float:
    """Seconds of one call on a buffer that its owner has just written."""
    buffers.fill(contender.words, cell, 1.0)
    comm.barrier()
    return _time(contender.call)


def _in_a_row(comm: Communicator, contender: Contender, cell: Cell, num_calls: int) -> float:
    """Seconds of one of many calls, one after the other; the sum of zeros stays zero."""
    buffers.fill(contender.words, cell, 0.0)
    if isinstance(contender, NativeRing):
        comm.barrier()
        return contender.in_a_row(num_calls)
    call, turns = contender.call, range(num_calls)

    def all_calls() -> None:
        for _ in turns:
            call()

    comm.barrier()
    return _time(all_calls) / num_calls


def _time(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
