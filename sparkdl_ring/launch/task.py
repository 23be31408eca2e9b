"""What every task does, whoever started it: meet, connect, call, report."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sparkdl_ring import log
from sparkdl_ring.comm import Communicator, clear, connect, set_current
from sparkdl_ring.comm.greeting import own_versions
from sparkdl_ring.config import RingConfig, environment, scoped_environment
from sparkdl_ring.errors import LaunchError
from sparkdl_ring.launch.api import LaunchOptions
from sparkdl_ring.launch.board import Board
from sparkdl_ring.launch.device import Choice, Grant, choose, host_gpus, refuse_used_cuda
from sparkdl_ring.launch.failure import FailureRecord
from sparkdl_ring.launch.payload import decode_call, encode_result
from sparkdl_ring.rendezvous import Rendezvous
from sparkdl_ring.world import World

_SECRET_BYTES = 32


@dataclass(frozen=True)
class TaskSpec:
    """All that a task is told; the same for every rank.

    Args:
        call: The user's function and arguments, pickled.
        size: Number of ranks.
        run_id: Name of the run.
        config: The resolved settings.
        secret: Proves membership of the run.
        driver: Versions on the driver.
        board: Where to leave marks, if anywhere.
    """

    call: bytes
    size: int
    run_id: str
    config: RingConfig
    secret: bytes
    driver: Mapping[str, str]
    board: Board | None = None

    def __repr__(self) -> str:
        return f"TaskSpec(run_id={self.run_id!r}, size={self.size}, call={len(self.call)} bytes)"


class RankFailedError(Exception):
    """Carries a failure record out of a task."""

    def __init__(self, record: FailureRecord) -> None:
        super().__init__(record.summary)
        self.record = record


def specify(call: bytes, size: int, options: LaunchOptions, board: Board | None) -> TaskSpec:
    """The spec of a new launch, with a secret of its own."""
    run_id = options.run_id or f"run-{secrets.token_hex(8)}"
    secret = secrets.token_bytes(_SECRET_BYTES)
    return TaskSpec(call, size, run_id, options.config, secret, own_versions(), board)


def run_rank(spec: TaskSpec, rendezvous: Rendezvous, grant: Grant) -> bytes:
    """Plays one rank and returns its pickled result.

    Args:
        spec: What to do.
        rendezvous: The meeting point.
        grant: What the platform says about GPUs.

    Raises:
        RankFailedError: Whatever went wrong, as a record that is also on the board.
    """
    log.set_place(rendezvous.rank, spec.size)
    try:
        choice = choose(grant, environment(), host_gpus())
        refuse_used_cuda(choice)
        with scoped_environment(choice.changes):
            return _play(spec, rendezvous, choice)
    except BaseException as error:
        record = FailureRecord.of(error, rendezvous.rank)
        if spec.board is not None:
            spec.board.report(record)
        raise RankFailedError(record) from error
    finally:
        log.set_place(None, None)


def _play(spec: TaskSpec, rendezvous: Rendezvous, choice: Choice) -> bytes:
    function = decode_call(spec.call)  # first, so that a missing module shows before anybody waits
    world = _place(spec, rendezvous, choice)
    if spec.board is not None:
        spec.board.arrive(world.rank)
    with connect(world, rendezvous, spec.config.comm, spec.secret, spec.driver) as comm:
        return encode_result(_call(function, comm))


def _place(spec: TaskSpec, rendezvous: Rendezvous, choice: Choice) -> World:
    if rendezvous.size != spec.size:
        raise LaunchError(f"{rendezvous.size} tasks were started where {spec.size} were asked for")
    return World(rendezvous.rank, spec.size, run_id=spec.run_id, gpu=choice.gpu)


def _call(function: Callable[[], Any], comm: Communicator) -> Any:
    set_current(comm)
    try:
        return function()
    finally:
        clear()
