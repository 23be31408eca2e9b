"""Child processes: started in groups of their own, watched without polling, and all ended at the end."""

from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from sparkdl_ring.launch.local_child import BOOT, Order
from sparkdl_ring.launch.output import OutputRelay
from sparkdl_ring.launch.verdict import Death, how_ended

_TERM_S = 0.5


@dataclass(frozen=True)
class End:
    """One process has ended.

    Args:
        rank: Its rank.
        code: Exit code, or minus the signal.
        seconds: Wall clock, seconds since 1970.
        output: The last lines it wrote.
    """

    rank: int
    code: int
    seconds: float
    output: str

    def death(self) -> Death:
        """The end as the verdict wants it."""
        return Death(self.rank, how_ended(self.code), socket.gethostname(), self.seconds, self.output)


class Gang:
    """The processes of one launch; leaving the block ends what still runs and all that it started.

    Args:
        relay: Takes their output.
    """

    def __init__(self, relay: OutputRelay) -> None:
        self._relay = relay
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._watchers: list[threading.Thread] = []
        self._ends: queue.Queue[End] = queue.Queue()
        self._deadline: float | None = None
        self.running: set[int] = set()

    def start(self, rank: int, order: Order) -> None:
        """Starts one process. What it must know goes through a pipe, not through argv or the environment."""
        child = subprocess.Popen(
            [sys.executable, "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._children[rank] = child
        self.running.add(rank)
        self._relay.attach(rank, child)
        _tell(child, order)
        watcher = threading.Thread(
            target=self._watch, args=(rank, child), name=f"ring-watch-{rank}", daemon=True
        )
        self._watchers.append(watcher)
        watcher.start()

    def next_end(self, timeout_s: float) -> End | None:
        """The next process to end, or ``None`` when none does within ``timeout_s``."""
        left_s = timeout_s if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        try:
            end = self._ends.get(timeout=min(timeout_s, left_s))
        except queue.Empty:
            return None
        self.running.discard(end.rank)
        return end

    def end_within(self, grace_s: float) -> None:
        """Gives the others ``grace_s`` from now; a later call changes nothing."""
        if self._deadline is None:
            self._deadline = time.monotonic() + grace_s

    def grace_is_over(self) -> bool:
        """True once that time has passed."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    def __enter__(self) -> Gang:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + _TERM_S
        while self.running and time.monotonic() < deadline:
            self._drain(deadline - time.monotonic())
        self._signal(signal.SIGKILL)
        for watcher in self._watchers:
            watcher.join()

    def _drain(self, timeout_s: float) -> None:
        with suppress(queue.Empty):
            self.running.discard(self._ends.get(timeout=max(0.0, timeout_s)).rank)

    def _signal(self, number: signal.Signals) -> None:
        for rank in self.running:
            with suppress(ProcessLookupError):
                os.killpg(self._children[rank].pid, number)

    def _watch(self, rank: int, child: subprocess.Popen[bytes]) -> None:
        """Waits for one child, then ends its whole group while its number cannot be another's."""
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        seconds = time.time()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        code = child.wait()
        self._ends.put(End(rank, code, seconds, self._relay.finish(rank)))


def _tell(child: subprocess.Popen[bytes], order: Order) -> None:
    """A child that ends before it has listened is noticed by its watcher."""
    assert child.stdin is not None
    message = json.dumps(sys.path).encode() + b"\n" + pickle.dumps((os.getpid(), order))
    with suppress(BrokenPipeError), child.stdin:
        child.stdin.write(message)
