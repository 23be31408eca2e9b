"""N fresh processes on this host."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sparkdl_ring.errors import LaunchError
from sparkdl_ring.launch.api import LaunchOptions
from sparkdl_ring.launch.board import Board
from sparkdl_ring.launch.local_child import Order, call_path, result_path
from sparkdl_ring.launch.output import OutputRelay
from sparkdl_ring.launch.payload import decode_result, encode_call
from sparkdl_ring.launch.processes import Gang
from sparkdl_ring.launch.task import TaskSpec, specify
from sparkdl_ring.launch.verdict import Death, accused, first_cause
from sparkdl_ring.log import get_logger
from sparkdl_ring.store import open_store

_log = get_logger(__name__)
_MAX_LOCAL_CALL_BYTES = 1 << 40  # the call travels through a file, so only the disk bounds it


class LocalLauncher:
    """Starts every rank as a fresh Python process (never a fork) that dies with this one.

    What the ranks print appears on this process's own output, each line with its rank in front.

    Args:
        output: Where lines go; default this process's standard output and error.
    """

    def __init__(self, output: Callable[[int, str, str], None] | None = None) -> None:
        self._output = output

    def platform_settings(self) -> Mapping[str, str]:
        """None: processes of this host inherit the environment."""
        return {}

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        num_workers: int,
        options: LaunchOptions,
    ) -> list[Any]:
        """See :class:`~sparkdl_ring.launch.api.Launcher`."""
        call = encode_call(fn, args, kwargs, _MAX_LOCAL_CALL_BYTES)
        with tempfile.TemporaryDirectory(prefix="sparkdl-ring-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            call_path(folder).write_bytes(call)
            board = Board(open_store(name), "board")
            spec = specify(b"", num_workers, options, board)
            with OutputRelay(self._output) as relay, Gang(relay) as gang:
                _start(gang, spec, folder)
                deaths = _watch(gang, board, options)
            return _results(folder, num_workers, board, deaths)


def _start(gang: Gang, spec: TaskSpec, folder: Path) -> None:
    for rank in range(spec.size):
        gang.start(rank, Order(spec, rank, str(folder)))


def _watch(gang: Gang, board: Board, options: LaunchOptions) -> list[Death]:
    """Waits for all to end; after the first failure for ``grace_s`` only, and not for stuck ranks."""
    deaths: list[Death] = []
    while gang.running:
        ended = gang.next_end(options.poll_s)
        if options.on_poll is not None:
            options.on_poll()
        if ended is not None and ended.code != 0:
            deaths.append(ended.death())
            gang.end_within(options.config.launch.grace_s)
        if deaths and gang.running <= accused(board.failures()):
            break
        if gang.grace_is_over():
            break
    return deaths


def _results(folder: Path, size: int, board: Board, deaths: Sequence[Death]) -> list[Any]:
    missing = [
        Death(rank, "exited and gave no result")
        for rank in range(size)
        if not result_path(folder, rank).exists()
    ]
    if deaths or missing:
        known = {death.rank for death in deaths}
        rest = [] if deaths else [death for death in missing if death.rank not in known]
        error = first_cause(board.failures(), [*deaths, *rest])
        raise error if error is not None else LaunchError("ranks ended without a result")
    return [decode_result(result_path(folder, rank).read_bytes(), rank) for rank in range(size)]
