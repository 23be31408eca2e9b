"""From Spark's report of a failed barrier stage to the rank that failed first."""

from __future__ import annotations

import re

from sparkdl_ring.errors import LaunchError, TaskFailedError
from sparkdl_ring.launch.board import Board
from sparkdl_ring.launch.failure import find
from sparkdl_ring.launch.payload import missing_module_text
from sparkdl_ring.launch.verdict import Death, first_cause

_TASK = re.compile(r"(?:ResultTask|ShuffleMapTask)\((\d+), (\d+)\)")
_CRASH = re.compile(
    r"Python worker (?:exited unexpectedly|process terminated)[^\n]*|ExecutorLostFailure[^\n]*"
)
_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_MAX_TEXT = 4000


def explain(error: BaseException, board: Board | None) -> LaunchError:
    """The error to raise for a failed job: the board's word first, then the message's, then Spark's own.

    Args:
        error: What the action raised.
        board: Where tasks left records, if anywhere.
    """
    text = str(error)
    records = {record.rank: record for record in find(text)}
    records.update({} if board is None else {record.rank: record for record in board.failures()})
    crashed = crash_in(text)
    cause = first_cause(list(records.values()), [] if crashed is None else [crashed])
    if cause is not None:
        return cause
    return _unknown(text, error)


def crash_in(text: str) -> Death | None:
    """The rank whose worker process died without an exception, from Spark's text."""
    crash, task = _CRASH.search(text), _TASK.search(text)
    if crash is None or task is None:
        return None
    words = crash.group(0).partition("Consider setting")[0].strip()
    return Death(int(task.group(2)), f"died without an exception: {words}")


def _unknown(text: str, error: BaseException) -> LaunchError:
    """A failure outside our own code: Spark's text, and the rank where it names one."""
    module = _MODULE.search(text)
    hint = f"{missing_module_text(module.group(1))}\n" if module else ""
    task = _TASK.search(text)
    found: LaunchError
    if task is None:
        found = LaunchError(f"{hint}the Spark job failed: {text[:_MAX_TEXT]}")
    else:
        rank = int(task.group(2))
        found = TaskFailedError(
            f"{hint}rank {rank} failed: {text[:_MAX_TEXT]}", rank=rank, remote_traceback=text
        )
    found.__cause__ = error
    return found
