"""What ranks print, line by line on this process's own output, with the rank in front."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO

_CHUNK_BYTES = 1 << 16
_LINE_BYTES = 8192
_TAIL_LINES = 20
_DRAIN_S = 1.0

Sink = Callable[[int, str, str], None]
"""Takes rank, stream name (``stdout`` or ``stderr``) and a line."""


@dataclass
class _Stream:
    rank: int
    name: str
    pipe: IO[bytes]
    tail: deque[str]
    rest: bytes = b""


@dataclass
class _Rank:
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL_LINES))
    open: int = 0
    closed: threading.Event = field(default_factory=threading.Event)


class OutputRelay:
    """One thread that reads the pipes of all ranks. Lines are cut at 8 KB, so that a rank cannot fill memory.

    Args:
        sink: Where lines go; default this process's standard output and error.
    """

    def __init__(self, sink: Sink | None = None) -> None:
        self._sink = sink or print_line
        self._selector = selectors.DefaultSelector()
        self._ranks: dict[int, _Rank] = {}
        self._wake_read, self._wake_write = os.pipe()
        self._new: deque[_Stream] = deque()
        self._stopping = False
        self._thread = threading.Thread(target=self._loop, name="ring-output", daemon=True)

    def __enter__(self) -> OutputRelay:
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping = True
        self._wake()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, _Stream):
                key.data.pipe.close()
        self._selector.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def attach(self, rank: int, child: subprocess.Popen[bytes]) -> None:
        """Starts to read the output of ``child``."""
        state = self._ranks[rank] = _Rank()
        for name, pipe in (("stdout", child.stdout), ("stderr", child.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            state.open += 1
            self._new.append(_Stream(rank, name, pipe, state.tail))
        self._wake()

    def finish(self, rank: int) -> str:
        """The last lines of ``rank``, whose process has ended; waits a moment for its pipes to run dry."""
        state = self._ranks[rank]
        state.closed.wait(_DRAIN_S)
        return "\n".join(state.tail)

    def _wake(self) -> None:
        os.write(self._wake_write, b"x")

    def _loop(self) -> None:
        while not self._stopping:
            for key, _ in self._selector.select():
                if key.data is None:
                    os.read(self._wake_read, _CHUNK_BYTES)
                    self._adopt()
                else:
                    self._read(key.data)

    def _adopt(self) -> None:
        while self._new:
            stream = self._new.popleft()
            self._selector.register(stream.pipe, selectors.EVENT_READ, stream)

    def _read(self, stream: _Stream) -> None:
        data = os.read(stream.pipe.fileno(), _CHUNK_BYTES)
        *lines, stream.rest = (stream.rest + data).split(b"\n")
        if not data or len(stream.rest) > _LINE_BYTES:
            lines, stream.rest = [*lines, stream.rest], b""
        for line in lines:
            if line or data:
                self._emit(stream, line)
        if not data:
            self._close(stream)

    def _emit(self, stream: _Stream, line: bytes) -> None:
        text = line[:_LINE_BYTES].decode(errors="replace").rstrip("\r")
        stream.tail.append(text)
        with suppress(Exception):  # a sink that fails must not stop the reading, or the rank would block
            self._sink(stream.rank, stream.name, text)

    def _close(self, stream: _Stream) -> None:
        self._selector.unregister(stream.pipe)
        stream.pipe.close()
        state = self._ranks[stream.rank]
        state.open -= 1
        if state.open == 0:
            state.closed.set()


def print_line(rank: int, stream: str, line: str) -> None:
    """Writes ``[rank r] line`` to the stream of the same name."""
    target = sys.stdout if stream == "stdout" else sys.stderr
    target.write(f"[rank {rank}] {line}\n")
    target.flush()
