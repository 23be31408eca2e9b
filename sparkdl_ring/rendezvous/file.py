"""Meeting in a folder that all ranks see: one small file a rank and round, published by rename."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from sparkdl_ring.errors import ConfigError, RendezvousTimeoutError
from sparkdl_ring.rendezvous.barrier import missing_text

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.002, 0.05


class FileRendezvous:
    """Ranks of one host (or of hosts that share a file system) meet in ``path/run_id``.

    Args:
        path: A folder that only the owner of the run can write: what is in it is trusted.
        rank: Own rank.
        size: Number of ranks.
        run_id: Name of the run; files of another run are never looked at.
        peers: Numeric addresses of the other hosts, none when all ranks are on this one.
    """

    def __init__(
        self, path: str | Path, rank: int, size: int, run_id: str, peers: tuple[str, ...] = ()
    ) -> None:
        if not 0 <= rank < size:
            raise ConfigError(f"rank {rank} is outside 0..{size - 1}")
        self._folder = Path(path) / run_id
        self._rank, self._size, self._peers = rank, size, peers
        self._round = 0

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def size(self) -> int:
        return self._size

    @property
    def peers(self) -> tuple[str, ...]:
        return self._peers

    def exchange(self, payload: bytes, timeout_s: float) -> list[bytes]:
        files = [self._folder / f"{self._round}-{rank}" for rank in range(self._size)]
        self._round += 1
        self._publish(files[self._rank], payload)
        deadline = time.monotonic() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while missing := [rank for rank, file in enumerate(files) if not file.exists()]:
            if time.monotonic() >= deadline:
                text = missing_text(missing, self._size, timeout_s)
                raise RendezvousTimeoutError(text, missing=tuple(missing))
            time.sleep(pause_s)  # a folder has no other way to tell of a new file on every file system
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return [file.read_bytes() for file in files]

    def _publish(self, target: Path, payload: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
        draft.write_bytes(payload)
        draft.replace(target)
