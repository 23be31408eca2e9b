"""Rings of ranks that are threads of the test process, for the suites of this folder."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sparkdl_ring.comm import Communicator, connect, in_process
from sparkdl_ring.config import CommConfig
from sparkdl_ring.rendezvous import FileRendezvous
from sparkdl_ring.world import World

TIMEOUT_S = 20.0


class Ring:
    """``size`` connected ranks, each played by a thread of its own."""

    def __init__(self, comms: list[Communicator]) -> None:
        self.comms = comms
        self.pool = ThreadPoolExecutor(len(comms), thread_name_prefix="rank")

    def each(self, play: Callable[[Communicator], Any]) -> list[Any]:
        """Results by rank; the first exception by rank is raised."""
        return [future.result(timeout=TIMEOUT_S) for future in self.start(play)]

    def failures(self, play: Callable[[Communicator], Any]) -> list[BaseException | None]:
        """Exceptions by rank."""
        return [future.exception(timeout=TIMEOUT_S) for future in self.start(play)]

    def start(self, play: Callable[[Communicator], Any]) -> list[Any]:
        return [self.pool.submit(play, comm) for comm in self.comms]

    def close(self) -> None:
        for comm in self.comms:
            comm.close()
        self.pool.shutdown()


def connected(transport: str, size: int, folder: Path) -> Ring:
    config = CommConfig(transport=transport, timeout_s=TIMEOUT_S / 2, connect_timeout_s=TIMEOUT_S / 2)
    if transport == "inproc":
        return Ring(in_process(size, config))
    meet = [FileRendezvous(folder, rank, size, "conformance") for rank in range(size)]
    with ThreadPoolExecutor(size) as pool:
        secret = bytes(range(32))
        joining = [
            pool.submit(connect, World(r, size, run_id="c"), meet[r], config, secret) for r in range(size)
        ]
        return Ring([future.result() for future in joining])
