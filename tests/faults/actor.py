"""One rank process of the fault harness: obeys JSON lines, tells how each step ended and what is left."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
import trap
import workload
from faultcases import BYTES

from sparkdl_ring import _native
from sparkdl_ring.comm import Communicator, in_process
from sparkdl_ring.comm.select import explain  # noqa: F401 - loaded before the fork
from sparkdl_ring.errors import RingError
from sparkdl_ring.world import World

_SETTLE_S = 3.0


def main(channel: socket.socket) -> None:
    """Obeys until the harness hangs up."""
    stream = channel.makefile("rw", encoding="utf-8")
    rank = Actor()
    with contextlib.suppress(ConnectionError):
        for line in stream:
            order = json.loads(line)
            answer = getattr(rank, "do_" + order.pop("do"))(**order)
            stream.write(json.dumps(answer) + "\n")
            stream.flush()


class Actor:
    """What the harness can ask of a rank."""

    def __init__(self) -> None:
        self._listener: Any = None
        self._comm: Communicator | None = None
        for comm in in_process(1):  # whatever the first use opens for good
            comm.allreduce(np.ones(1))
            comm.close()
        self._baseline = held()

    def do_open(self, host: str, transport: str, host_id: str) -> dict[str, Any]:
        """Listens; tells the address."""
        self._listener = _native.Listener(host, transport, host_id)
        return {"address": self._listener.address.hex()}

    def do_connect(
        self,
        place: list[int],
        addresses: list[str],
        run_id: str,
        secret: str,
        limits: list[float],
        deadly: list[Any],
    ) -> dict[str, Any]:
        """Meets the others; ``limits``: seconds for that and for each collective; ``deadly``: a trap."""
        rank, size = place
        if deadly:
            trap.spring(*deadly)
        blobs = [bytes.fromhex(text) for text in addresses]
        try:
            native = self._listener.connect(rank, blobs, run_id, 0, bytes.fromhex(secret), limits[0])
        except RingError as error:
            return told(error)
        self._comm = Communicator(native, World(rank, size), limits[1])
        return {"ended": "ok"}

    def do_work(self, seed: int, large: bool, rounds: int, act: list[Any]) -> dict[str, Any]:
        """Runs checked collectives; ``act``: what this rank does wrong, and before which of them."""
        load = workload.Workload(self._comm, seed, large)
        number = 0
        try:
            for number in range(rounds):
                if act and number == act[1]:
                    self._misbehave(load, act)
                load.step()
        except RingError as error:
            return {**told(error), "done": number}
        except workload.WrongResultError as error:
            return {"ended": "WRONG", "rank": None, "text": str(error), "done": number}
        return {"ended": "ok", "done": rounds}

    def _misbehave(self, load: workload.Workload, act: list[Any]) -> None:
        """The rank itself is the fault."""
        kind, comm = act[0], self._comm
        if kind == "sleep":
            time.sleep(act[2])
        elif kind == "close":
            comm.close()
        elif kind == "abort":
            comm.abort("the fault harness says so")
        elif kind == "exit":
            os._exit(3)
        elif kind == "mismatch":
            comm.allreduce(np.ones(1013, np.int64), "max")
        elif kind in BYTES:
            harm_a_socket(kind, act[2], set(self._baseline["descriptors"]))
        elif kind == "lie":  # so that the harness itself can be tested
            load.lie()
        elif kind == "leak":
            os.dup(2)
        elif kind == "hang":
            time.sleep(30)

    def do_leave(self) -> dict[str, Any]:
        """Closes everything; tells what is left that was not there at the begin."""
        for thing in (self._comm, self._listener):
            if thing is not None:
                thing.close()
        self._comm = self._listener = None
        deadline = time.monotonic() + _SETTLE_S
        while True:
            gc.collect()
            left = {
                name: sorted(set(now) - set(self._baseline[name]))
                if name != "threads"
                else max(0, len(now) - len(self._baseline[name]))
                for name, now in held().items()
            }
            if not any(left.values()) or time.monotonic() > deadline:
                return {"left": {name: found for name, found in left.items() if found}}
            time.sleep(0.01)


def told(error: RingError) -> dict[str, Any]:
    """An error as plain values."""
    blamed = [*getattr(error, "missing", ()), *([] if error.rank is None else [error.rank])]
    return {"ended": type(error).__name__, "rank": error.rank, "blamed": blamed, "text": str(error)}


def held() -> dict[str, list[str]]:
    """What this process holds: descriptors, threads, children and mappings of shared memory."""
    descriptors = []
    for entry in os.listdir("/proc/self/fd"):
        try:
            descriptors.append(f"{entry} {os.readlink(f'/proc/self/fd/{entry}')}")
        except OSError:
            continue
    tasks = [entry.name for entry in Path("/proc/self/task").iterdir()]
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    lines = Path("/proc/self/maps").read_text().splitlines()
    mappings = [line.split(None, 5)[5] for line in lines if "memfd:" in line or "/dev/shm" in line]
    own = [line for line in descriptors if "/proc/" not in line]
    return {"descriptors": own, "threads": tasks, "children": children, "mappings": mappings}


def own_sockets(known: set[str]) -> list[socket.socket]:
    """Copies of the connected sockets that are not ``known``: the communicator's."""
    found = []
    for text in sorted(set(held()["descriptors"]) - known):
        number, _, target = text.partition(" ")
        if target.startswith("socket:"):
            copy = socket.socket(fileno=os.dup(int(number)))
            try:
                copy.getpeername()
                found.append(copy)
            except OSError:
                copy.close()
    return found


def harm_a_socket(kind: str, choice: int, known: set[str]) -> None:
    """Cuts one of the communicator's own connections, or says in it what no rank says."""
    random = np.random.default_rng(choice)
    words = {
        "shutdown": b"",
        "garbage": bytes([0xF0 | choice % 16]) + random.bytes(300),
        "false_length": b"\x03\xff\xff\xff\x7f" + random.bytes(300),  # an abort of 2 GB
        "truncated": b"\x03\x64\x00\x00\x00" + random.bytes(choice % 50),  # half an abort
        "flood_peers": bytes([0xF0]) * (4 << 20),
    }
    sockets = own_sockets(known)
    if sockets:
        chosen = sockets[choice % len(sockets)]
        chosen.settimeout(0.2)
        with contextlib.suppress(OSError):
            chosen.sendall(words[kind])
        if kind in ("shutdown", "truncated"):
            with contextlib.suppress(OSError):
                chosen.shutdown(socket.SHUT_WR if kind == "truncated" else socket.SHUT_RDWR)
    for copy in sockets:
        copy.close()
