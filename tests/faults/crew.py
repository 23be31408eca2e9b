"""The harness's side: rank processes that are used again until a fault ends them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sparkdl_ring import config

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class HangError(AssertionError):
    """A rank did not answer in time."""


class GoneError(Exception):
    """A rank's process has ended."""


class Hand:
    """One rank process.

    Args:
        pid: Its process.
        channel: The socket to it.
    """

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.channel = channel
        self._inbox = b""

    def ask(self, **order: Any) -> None:
        """Gives an order; the answer comes by :meth:`hear`."""
        try:
            self.channel.sendall(json.dumps(order).encode() + b"\n")
        except OSError as error:
            raise GoneError from error

    def hear(self, deadline: float) -> dict[str, Any]:
        """The next answer.

        Raises:
            HangError: It did not come before ``deadline`` (monotonic seconds).
            GoneError: The process has ended.
        """
        while b"\n" not in self._inbox:
            self.channel.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                piece = self.channel.recv(1 << 16)
            except TimeoutError:
                raise HangError(f"process {self.pid} does not answer\n{self.stack()}") from None
            except OSError as error:
                raise GoneError from error
            if not piece:
                raise GoneError
            self._inbox += piece
        line, _, self._inbox = self._inbox.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal; one that comes too late is no error."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def end(self) -> None:
        """Kills the process for good."""
        self.signal(signal.SIGKILL)
        self.channel.close()

    def stack(self) -> str:
        """Where its threads are in the kernel, for the report of a hang; Python's stack goes to stderr."""
        self.signal(signal.SIGUSR1)
        found = []
        for task in Path(f"/proc/{self.pid}/task").glob("*"):
            try:
                found.append(f"{task.name} {(task / 'wchan').read_text()} {(task / 'syscall').read_text()}")
            except OSError:
                continue
        return "\n".join(found)


class Crew:
    """Rank processes, forked from one nursery as they are needed."""

    def __init__(self) -> None:
        self._asking, theirs = socket.socketpair()
        path = os.pathsep.join([str(ROOT), str(HERE)])
        self._nursery = subprocess.Popen(
            [sys.executable, str(HERE / "nursery.py"), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**config.environment(), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
        theirs.close()
        self._idle: list[Hand] = []
        self.started = 0

    def hire(self, count: int) -> list[Hand]:
        """``count`` processes, used ones first."""
        return [self._idle.pop() if self._idle else self._fork() for _ in range(count)]

    def release(self, hand: Hand) -> None:
        """Takes back a healthy process for the next fault."""
        self._idle.append(hand)

    def close(self) -> None:
        """Ends every process."""
        for hand in self._idle:
            hand.end()
        self._idle.clear()
        self._asking.close()
        self._nursery.wait(10)

    def _fork(self) -> Hand:
        mine, theirs = socket.socketpair()
        socket.send_fds(self._asking, [b"f"], [theirs.fileno()])
        theirs.close()
        self._asking.settimeout(60)
        answer = self._asking.recv(4)
        if len(answer) != 4:
            raise RuntimeError("the nursery has ended")
        self.started += 1
        return Hand(int.from_bytes(answer, "little"), mine)
