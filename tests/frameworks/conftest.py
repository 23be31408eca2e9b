"""Ranks as threads of one process, for tests of the framework rooms."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from sparkdl_ring.comm import Communicator
from sparkdl_ring.comm.connect import in_process
from sparkdl_ring.config import CommConfig

Ranks = Callable[[int, Callable[[Communicator], Any]], list[Any]]


@pytest.fixture
def ranks() -> Ranks:
    """``ranks(n, fn)`` calls ``fn(comm)`` on ``n`` ranks; results by rank, or the first failure."""
    return run_ranks


def run_ranks(size: int, fn: Callable[[Communicator], Any]) -> list[Any]:
    results: list[Any] = [None] * size
    failures: list[BaseException] = []

    def play(comm: Communicator) -> None:
        try:
            results[comm.rank] = fn(comm)
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failures.append(error)
            comm.abort(f"{type(error).__name__}: {error}")

    comms = in_process(size, CommConfig(timeout_s=30))
    threads = [threading.Thread(target=play, args=(comm,), name=f"rank-{comm.rank}") for comm in comms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for comm in comms:
        comm.close()
    if failures:
        raise failures[0]
    return results
