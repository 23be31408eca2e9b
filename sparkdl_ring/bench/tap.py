"""A switch in user space with rate, delay, queue limit and loss on every port; run as a program.

    tap.py RATE_MBIT DELAY_MS LOSS NAMESPACE...

It puts a TAP device ``eth0`` into each network namespace, says ``ready`` and forwards frames until it is
killed. A frame takes its time on the sender's wire and on the receiver's, then the delay.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

_TUNSETIFF = 0x400454CA
_IFF_TAP_NO_PI = 0x1002
_CLONE_NEWNET = 0x40000000
_QUEUE_S = 0.02  # a port holds what its wire carries in this time
_MOST_BYTES = 1 << 16
_BATCH = 32
_MULTICAST = 1


class Switch:
    """Ports with wires of one kind.

    Args:
        ports: File descriptors of TAP devices.
        rate_mbit: Megabits per second each way of each wire; 0: no limit.
        delay_s: Seconds from one port to another, beside the time on the wires.
        loss: Share of frames dropped.
    """

    def __init__(self, ports: list[int], rate_mbit: float, delay_s: float, loss: float) -> None:
        self._ports = ports
        self._s_per_byte = 8 / (rate_mbit * 1e6) if rate_mbit > 0 else 0.0
        self._delay_s, self._loss = delay_s, loss
        self._up = [0.0] * len(ports)
        self._down = [0.0] * len(ports)
        self._known: dict[bytes, int] = {}
        self._due: list[tuple[float, int, int, bytes]] = []
        self._number = 0

    def forward(self) -> None:
        """Forwards for ever."""
        poller = select.epoll()
        for port in self._ports:
            poller.register(port, select.EPOLLIN)
        index = {port: place for place, port in enumerate(self._ports)}
        while True:
            wait_s = self._due[0][0] - time.monotonic() if self._due else -1
            ready = poller.poll(wait_s if wait_s > 0 or not self._due else 0)
            for port, _ in ready:
                self._read(index[port])
            self._deliver()

    def _read(self, source: int) -> None:
        for _ in range(_BATCH):
            try:
                frame = os.read(self._ports[source], _MOST_BYTES)
            except BlockingIOError:
                return
            except OSError:  # the interface is down
                return
            self._known[frame[6:12]] = source
            if self._loss and random.random() < self._loss:
                continue
            self._send(source, frame, time.monotonic())

    def _send(self, source: int, frame: bytes, now: float) -> None:
        wire_s = len(frame) * self._s_per_byte
        begin = max(now, self._up[source])
        if begin - now > _QUEUE_S:
            return
        self._up[source] = begin + wire_s
        for target in self._targets(source, frame):
            arrives = max(begin, self._down[target])  # both wires carry it at once
            if arrives - begin > _QUEUE_S:
                continue
            self._down[target] = arrives + wire_s
            self._number += 1
            heapq.heappush(self._due, (arrives + wire_s + self._delay_s, self._number, target, frame))

    def _targets(self, source: int, frame: bytes) -> list[int]:
        known = None if frame[0] & _MULTICAST else self._known.get(frame[:6])
        everyone = [port for port in range(len(self._ports)) if port != source]
        return everyone if known is None else [known] if known != source else []

    def _deliver(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            _, _, target, frame = heapq.heappop(self._due)
            try:
                os.write(self._ports[target], frame)
            except OSError:  # the interface is down or its queue is full: the frame is lost
                continue


def open_tap(namespace: str) -> int:
    """A TAP device ``eth0`` in a namespace, which this process enters for that."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{namespace}") as file:  # noqa: PTH123 - the program runs without our package
        if libc.setns(file.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter namespace {namespace}")
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH14x", b"eth0", _IFF_TAP_NO_PI))
    return tap


def main(words: list[str]) -> None:
    """See the module."""
    rate_mbit, delay_ms, loss = (float(word) for word in words[:3])
    ports = [open_tap(namespace) for namespace in words[3:]]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    Switch(ports, rate_mbit, delay_ms / 1e3, loss).forward()


if __name__ == "__main__":
    main(sys.argv[1:])
