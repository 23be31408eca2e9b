"""Rank processes on the hosts of a :class:`~sparkdl_ring.bench.lab.Lab`."""

from __future__ import annotations

import json
import os
import pickle
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from sparkdl_ring.bench.lab import Lab
from sparkdl_ring.comm import connect
from sparkdl_ring.config import CommConfig
from sparkdl_ring.errors import LaunchError
from sparkdl_ring.launch.local_child import die_with
from sparkdl_ring.rendezvous import FileRendezvous
from sparkdl_ring.world import World

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from sparkdl_ring.bench.lab_ranks import main; main()"
)
Play = Callable[..., Any]


@dataclass(frozen=True)
class Part:
    """What one rank is told.

    Args:
        rank: Own rank.
        hosts: Host of every rank.
        config: Its settings.
        peers: Addresses of the other hosts.
        folder: Where the ranks meet and leave results.
        secret: Of this run.
        play: A module-level function, called with the communicator and ``arguments``.
        arguments: Its further arguments.
    """

    rank: int
    hosts: tuple[int, ...]
    config: CommConfig
    peers: tuple[str, ...]
    folder: str
    secret: bytes
    play: Play
    arguments: tuple[Any, ...]


class Cast:
    """The processes of one run, there while the block lasts.

    Args:
        lab: The hosts.
        hosts: Host of each rank, for example ``(0, 0, 1, 1)``.
        config: Settings of all ranks; ``host_id`` is filled in.
        peers: Addresses by host; default IPv4.
    """

    def __init__(
        self, lab: Lab, hosts: Sequence[int], config: CommConfig | None = None, peers: Sequence[str] = ()
    ) -> None:
        self._lab, self._hosts = lab, tuple(hosts)
        self._config = config or CommConfig()
        self._peers = tuple(peers) or tuple(lab.ipv4(host) for host in range(lab.num_hosts))
        self._folder = tempfile.TemporaryDirectory(prefix="sparkdl-ring-lab-")
        self._secret = secrets.token_bytes(32)
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, play: Play, *arguments: Any, **own_config: CommConfig) -> None:
        """Starts all ranks.

        Args:
            play: A module-level function, called as ``play(comm, *arguments)`` in every rank.
            arguments: Picklable.
            own_config: Settings of single ranks, ``rank1=CommConfig(...)``.
        """
        for rank, host in enumerate(self._hosts):
            config = replace(own_config.get(f"rank{rank}", self._config), host_id=f"host-{host}")
            peers = tuple(self._peers[other] for other in dict.fromkeys(self._hosts) if other != host)
            part = Part(
                rank, self._hosts, config, peers, self._folder.name, self._secret, play, tuple(arguments)
            )
            self.processes.append(self._process(host, part))

    def results(self, timeout_s: float = 60.0) -> list[Any]:
        """What each rank returned, or the exception that ended it; ``None`` for one that was killed.

        Raises:
            LaunchError: A rank still ran after ``timeout_s``.
        """
        deadline = time.monotonic() + timeout_s
        for rank, process in enumerate(self.processes):
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                raise LaunchError(f"rank {rank} still runs after {timeout_s:g} s") from error
        files = [_result_path(self._folder.name, rank) for rank in range(len(self._hosts))]
        return [pickle.loads(file.read_bytes()) if file.exists() else None for file in files]

    def _process(self, host: int, part: Part) -> subprocess.Popen[bytes]:
        words = self._lab.command(host, sys.executable, "-c", _BOOT)
        process = subprocess.Popen(words, stdin=subprocess.PIPE)
        assert process.stdin is not None
        message = json.dumps(sys.path).encode() + b"\n" + pickle.dumps((os.getpid(), part))
        with process.stdin:
            process.stdin.write(message)
        return process

    def __enter__(self) -> Cast:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self._folder.cleanup()


def play_all(
    lab: Lab,
    hosts: Sequence[int],
    play: Play,
    *arguments: Any,
    config: CommConfig | None = None,
    timeout_s: float = 60.0,
) -> list[Any]:
    """Runs ``play`` on every rank and returns the results by rank.

    Raises:
        BaseException: What a rank raised.
        LaunchError: A rank still ran after ``timeout_s``.
    """
    with Cast(lab, hosts, config) as cast:
        cast.start(play, *arguments)
        outcomes = cast.results(timeout_s)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return outcomes


def main() -> None:
    """Plays the part that standard input names."""
    parent, part = pickle.load(sys.stdin.buffer)
    die_with(parent)
    target = _result_path(part.folder, part.rank)
    try:
        outcome = _perform(part)
    except Exception as error:  # noqa: BLE001 - carried to whoever started this rank
        outcome = error
    draft = target.with_suffix(".draft")
    draft.write_bytes(pickle.dumps(outcome))
    draft.replace(target)


def _perform(part: Part) -> Any:
    size = len(part.hosts)
    meeting = FileRendezvous(part.folder, part.rank, size, "meet", part.peers)
    with connect(World(part.rank, size, run_id="lab"), meeting, part.config, part.secret) as comm:
        return part.play(comm, *part.arguments)


def _result_path(folder: str, rank: int) -> Path:
    return Path(folder) / f"result-{rank}"
