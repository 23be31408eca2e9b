"""One suite for every way to meet; ranks are threads."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sparkdl_ring.errors import ConfigError, RendezvousError, RendezvousTimeoutError
from sparkdl_ring.rendezvous import BarrierRendezvous, FileRendezvous, Rendezvous, TcpRendezvous
from sparkdl_ring.world import World

TIMEOUT_S = 10.0
SECRET = b"s" * 32


@dataclass
class FakeBarrier:
    """Spark's barrier context for threads: allGather returns when all have called, or never."""

    size: int
    messages: dict[tuple[int, int], str] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)
    over: bool = False

    def context(self, rank: int) -> Any:
        turn = iter(range(100))
        addresses = [SimpleNamespace(address="127.0.0.1:4000")] * self.size
        return SimpleNamespace(
            partitionId=lambda: rank,
            getTaskInfos=lambda: addresses,
            allGather=lambda message="": self._gather(rank, next(turn), message),
        )

    def _gather(self, rank: int, turn: int, message: str) -> list[str]:
        keys = [(turn, r) for r in range(self.size)]
        with self.changed:
            self.messages[turn, rank] = message
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.over or all(k in self.messages for k in keys))
            return [self.messages[k] for k in keys if k in self.messages]


Make = Callable[[int, int], Rendezvous]


@pytest.fixture(params=["barrier", "file", "tcp"])
def make(request: pytest.FixtureRequest, tmp_path: Path):
    barriers: dict[int, FakeBarrier] = {}
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    arrived: set[int] = set()

    def build(rank: int, size: int) -> Rendezvous:
        arrived.add(rank)
        if request.param == "barrier":
            context = barriers.setdefault(size, FakeBarrier(size)).context(rank)
            return BarrierRendezvous(context, lambda: arrived)
        if request.param == "file":
            return FileRendezvous(tmp_path, rank, size, "run")
        return TcpRendezvous(World(rank, size, run_id="run"), "127.0.0.1", port, SECRET)

    yield build
    for barrier in barriers.values():
        with barrier.changed:
            barrier.over = True
            barrier.changed.notify_all()


def together(ranks: list[Rendezvous], play: Callable[[Rendezvous], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(ranks)) as pool:
        return [f.result(timeout=TIMEOUT_S) for f in [pool.submit(play, r) for r in ranks]]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_everybody_gets_everything_by_rank(make: Make, size: int):
    ranks = [make(rank, size) for rank in range(size)]
    answers = together(ranks, lambda r: r.exchange(b"\x00\xff%d" % r.rank, TIMEOUT_S))
    assert answers == [[b"\x00\xff%d" % rank for rank in range(size)]] * size
    assert [(r.rank, r.size) for r in ranks] == [(rank, size) for rank in range(size)]


def test_exchanges_follow_each_other(make: Make):
    ranks = [make(rank, 3) for rank in range(3)]

    def play(rendezvous: Rendezvous) -> list[list[bytes]]:
        return [rendezvous.exchange(b"%d-%d" % (turn, rendezvous.rank), TIMEOUT_S) for turn in range(4)]

    for turns in together(ranks, play):
        assert turns == [[b"%d-%d" % (turn, rank) for rank in range(3)] for turn in range(4)]


def test_a_rank_that_never_comes_is_named_in_time(make: Make):
    """LOG-101."""
    ranks = [make(rank, 3) for rank in (0, 1)]

    def play(rendezvous: Rendezvous) -> tuple[RendezvousTimeoutError, float]:
        start = time.monotonic()
        with pytest.raises(RendezvousTimeoutError) as caught:
            rendezvous.exchange(b"", 1.0)
        return caught.value, time.monotonic() - start

    (error, seconds), (_, other_seconds) = together(ranks, play)
    assert error.missing == (2,)
    assert error.rank == 2
    assert "2" in str(error)
    assert max(seconds, other_seconds) < 3


def tcp(rank: int, size: int, port: int, **changes: Any) -> TcpRendezvous:
    given = {"secret": SECRET, "run_id": "run", **changes}
    return TcpRendezvous(World(rank, size, run_id=given["run_id"]), "127.0.0.1", port, given["secret"])


@pytest.mark.parametrize("changes", [{"secret": b"t" * 32}, {"run_id": "yesterday"}])
def test_a_stranger_is_refused_and_delays_nobody(changes: dict[str, Any]):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    stranger = tcp(1, 2, port, **changes)
    with ThreadPoolExecutor(3) as pool:
        zero = pool.submit(tcp(0, 2, port).exchange, b"zero", TIMEOUT_S)
        with pytest.raises(RendezvousError, match="not of run"):
            stranger.exchange(b"stranger", TIMEOUT_S)
        one = pool.submit(tcp(1, 2, port).exchange, b"one", TIMEOUT_S)
        assert zero.result() == one.result() == [b"zero", b"one"]


def test_noise_on_the_port_delays_nobody():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with ThreadPoolExecutor(2) as pool:
        zero = pool.submit(tcp(0, 2, port).exchange, b"zero", TIMEOUT_S)
        silent, loud = _connected(port), _connected(port)
        with silent, loud:
            loud.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(4096))
            one = pool.submit(tcp(1, 2, port).exchange, b"one", TIMEOUT_S)
            assert zero.result() == one.result() == [b"zero", b"one"]


def _connected(port: int) -> socket.socket:
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise


def test_a_taken_port_is_told_with_what_to_do():
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(RendezvousError, match="MASTER_PORT"),
    ):
        tcp(0, 2, taken.getsockname()[1]).exchange(b"", 1.0)


def test_rank_0_listens_nowhere_but_on_its_interface(monkeypatch: pytest.MonkeyPatch):
    """D8: its name is loopback at home, as Debian has it."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    monkeypatch.setattr("sparkdl_ring.rendezvous.tcp.resolve", lambda name: ["127.0.1.1"])
    world = World(0, 2, run_id="run")
    zero = TcpRendezvous(world, "node-0", port, SECRET, interface="lo")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(zero.exchange, b"zero", TIMEOUT_S)
        _connected(port).close()
        for other in ("127.0.1.1", "127.0.0.2"):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((other, port), timeout=TIMEOUT_S)
        assert tcp(1, 2, port).exchange(b"one", TIMEOUT_S) == [b"zero", b"one"]
        assert answer.result() == [b"zero", b"one"]
    with pytest.raises(ConfigError, match=r"comm\.interface"):
        TcpRendezvous(world, "node-0", port, SECRET).exchange(b"zero", TIMEOUT_S)
