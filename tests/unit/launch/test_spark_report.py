"""From Spark's text to the first cause."""

from __future__ import annotations

import pytest

from sparkdl_ring.errors import LaunchError, PeerLostError, TaskFailedError
from sparkdl_ring.launch.board import Board
from sparkdl_ring.launch.failure import FailureRecord
from sparkdl_ring.launch.payload import encode_result
from sparkdl_ring.launch.spark import gather
from sparkdl_ring.launch.spark_report import crash_in, explain
from sparkdl_ring.launch.spark_task import CHUNK_BYTES, result_rows
from sparkdl_ring.store import open_store

CRASH = (
    "Job aborted due to stage failure: Could not recover from a failed barrier ResultStage. Most recent "
    "failure reason: Stage failed because barrier task ResultTask(7, 2) finished unsuccessfully.\n"
    "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n\tat org.apache"
)


def test_a_crashed_worker_is_named_by_its_partition():
    death = crash_in(CRASH)
    assert death is not None
    assert death.rank == 2
    error = explain(RuntimeError(CRASH), None)
    assert isinstance(error, TaskFailedError)
    assert error.rank == 2
    assert "exited unexpectedly" in str(error)


def test_records_in_the_message_win_over_sparks_words():
    record = FailureRecord.of(ValueError("bad"), 1)
    error = explain(RuntimeError(f"ResultTask(7, 2)\n{record.marked()}\n\tat org.apache"), None)
    assert error.rank == 1


def test_the_board_knows_more(tmp_path):
    board = Board(open_store(str(tmp_path)), "runs/a b#1/board")
    board.report(FailureRecord.of(ValueError("bad"), 3))
    echo = FailureRecord.of(PeerLostError("left", rank=3), 0)
    board.report(echo)
    error = explain(RuntimeError(f"ResultTask(0, 0) {echo.marked()}"), board)
    assert error.rank == 3
    assert isinstance(error.__cause__, ValueError)


def test_marks_on_the_board(tmp_path):
    board = Board(open_store(str(tmp_path)), "board")
    assert board.arrived() == set()
    board.arrive(0)
    board.arrive(11)
    assert board.arrived() == {0, 11}


def test_a_late_rank_does_not_bring_a_removed_board_back(tmp_path):
    """LOG-155: nothing is left of a run once its driver has cleaned up."""
    store = open_store(str(tmp_path))
    board = Board(store, "board", brief=True)
    board.open()
    board.arrive(0)
    assert board.arrived() == {0}
    store.delete("board", recursive=True)
    board.report(FailureRecord.of(ValueError("late"), 0))
    assert store.list() == []


def test_a_missing_package_in_the_worker_is_told_on_top():
    text = "ResultTask(0, 1)\nModuleNotFoundError: No module named 'sparkdl_ring'\n"
    error = explain(RuntimeError(text), None)
    assert str(error).startswith("module 'sparkdl_ring' is missing")
    assert error.rank == 1


def test_other_failures_keep_sparks_text():
    error = explain(RuntimeError("no space"), None)
    assert type(error) is LaunchError
    assert "no space" in str(error)


@pytest.mark.parametrize("count", [0, 1, CHUNK_BYTES, 2 * CHUNK_BYTES + 5])
def test_results_travel_in_chunks(count):
    rows = []
    for rank in (1, 0):
        for batch in result_rows(rank, encode_result(bytes([rank]) * count)):
            rows += [(r["rank"], r["part"], r["data"]) for r in batch.to_pylist()]
    assert all(len(data) <= CHUNK_BYTES for _, _, data in rows)
    assert gather(iter(rows[::-1]), 2) == [bytes([0]) * count, bytes([1]) * count]
    with pytest.raises(LaunchError, match="0 to 2"):
        gather(iter(rows), 3)
