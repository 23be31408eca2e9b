"""What strikes from outside the ranks: strangers at the door, and a man in the middle of TCP connections."""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import struct
import threading
import time
from typing import Any

PORT_AT = (
    6  # in an address: magic (4), version, policy, port (2), tls, streams, then texts with 2 bytes of length
)
HELLO_MAGIC = 0x48524B53


def ends_of(address: bytes) -> tuple[tuple[str, int] | None, str | None]:
    """The TCP endpoint and the Unix name in a rank's address."""
    port, _tls, _streams, length = struct.unpack_from("<HBBH", address, PORT_AT)
    at = PORT_AT + 6 + length
    ip = address[PORT_AT + 6 : at].decode()
    (name_length,) = struct.unpack_from("<H", address, at)
    name = address[at + 2 : at + 2 + name_length].decode()
    return ((ip, port) if port else None), (name or None)


def with_port(address: bytes, port: int) -> bytes:
    """The same address, behind another port."""
    return address[:PORT_AT] + struct.pack("<H", port) + address[PORT_AT + 2 :]


def unix_connection(name: str) -> socket.socket:
    """A connection to a listener in the abstract namespace."""
    visitor = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    visitor.settimeout(0.2)
    try:
        visitor.connect("\0" + name)
    except OSError:
        visitor.close()
        raise
    return visitor


class Strangers:
    """Connects to a listener and does what no rank does, until it is closed.

    Args:
        address: Of the rank that is annoyed.
        kind: ``garbage``, ``flood``, ``silence``, ``half`` or ``hangup``.
        seed: Decides the bytes.
    """

    def __init__(self, address: bytes, kind: str, seed: int) -> None:
        self._ends = ends_of(address)
        self._kind = kind
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._held: list[socket.socket] = []
        self._thread = threading.Thread(target=self._annoy, name="strangers")
        self._thread.start()

    def close(self) -> None:
        """Goes away."""
        self._stop.set()
        self._thread.join()

    def _annoy(self) -> None:
        while not self._stop.wait(self._random.uniform(0, 0.01)):
            with contextlib.suppress(OSError):
                self._knock()
        for visitor in self._held:
            visitor.close()

    def _knock(self) -> None:
        tcp, unix = self._ends
        if tcp is not None and (unix is None or self._random.random() < 0.5):
            visitor = socket.create_connection(tcp, timeout=0.2)
        elif unix is not None:
            visitor = unix_connection(unix)
        else:
            return
        with contextlib.suppress(OSError):
            visitor.sendall(self._words())
        if self._kind in ("silence", "half") and len(self._held) < 20:
            self._held.append(visitor)
        else:
            visitor.close()

    def _words(self) -> bytes:
        hello = struct.pack("<IIBB", HELLO_MAGIC, self._random.randrange(4), 1, self._random.randrange(5))
        sizes = {"garbage": 400, "flood": 1 << 18, "half": self._random.randrange(90)}
        noise = self._random.randbytes(sizes.get(self._kind, 0))
        return hello + noise if self._kind in ("half", "flood") else noise


class Middleman:
    """Forwards TCP connections to a rank, and does harm to one of them.

    Args:
        address: Of the rank behind it.
        harm: ``cut``, ``stall`` or ``flip`` once ``after`` bytes have passed; ``slow``: each piece is late;
            ``replay``: the dialler's bytes are said a second time on a connection of their own.
        which: Number of the connection that is harmed.
        after: Bytes of that connection, both directions together.
    """

    def __init__(self, address: bytes, harm: str, which: int, after: int) -> None:
        self._target = ends_of(address)[0]
        self._harm, self._which, self._after = harm, which, after
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = with_port(address, self._door.getsockname()[1])
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._door, selectors.EVENT_READ, None)
        self._wake, theirs = socket.socketpair()
        self._selector.register(theirs, selectors.EVENT_READ, "stop")
        self._theirs = theirs
        self._pairs: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._forward, name="middleman")
        self._thread.start()

    def close(self) -> None:
        """Cuts everything."""
        self._wake.send(b"x")
        self._thread.join()
        for pair in self._pairs:
            for end in (*pair["ends"], *pair["extra"]):
                end.close()
        for thing in (self._door, self._wake, self._theirs, self._selector):
            thing.close()

    def _forward(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data == "stop":
                    return
                if key.data is None:
                    self._let_in()
                else:
                    self._pass_on(key.fileobj, *key.data)

    def _let_in(self) -> None:
        near, _ = self._door.accept()
        try:
            far = socket.create_connection(self._target, timeout=2)
        except OSError:
            near.close()
            return
        pair = {"ends": (near, far), "passed": 0, "number": len(self._pairs), "extra": []}
        self._pairs.append(pair)
        if self._harm == "replay":
            with contextlib.suppress(OSError):
                pair["extra"].append(socket.create_connection(self._target, timeout=2))
        for end, other in ((near, far), (far, near)):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.settimeout(2)
            self._selector.register(end, selectors.EVENT_READ, (other, pair))

    def _pass_on(self, end: Any, other: socket.socket, pair: dict[str, Any]) -> None:
        try:
            data = end.recv(1 << 16)
        except OSError:
            data = b""
        harmed = pair["number"] == self._which
        reached = harmed and pair["passed"] + len(data) > self._after
        if reached and self._harm == "stall":
            self._selector.unregister(end)
            return
        if not data or (reached and self._harm == "cut"):
            self._hang_up(pair)
            return
        if reached and self._harm == "flip" and pair["passed"] <= self._after:
            at = self._after - pair["passed"]
            data = data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]
        if harmed and self._harm == "slow":
            time.sleep(0.002)
        pair["passed"] += len(data)
        with contextlib.suppress(OSError):
            other.sendall(data)
        if pair["extra"] and end is pair["ends"][0]:
            with contextlib.suppress(OSError):
                pair["extra"][0].sendall(data)

    def _hang_up(self, pair: dict[str, Any]) -> None:
        for end in pair["ends"]:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(end)
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
