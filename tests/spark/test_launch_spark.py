"""What only Spark can show: slots, workers, the board, interruption, plans that change partitions."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from sparkdl_ring import run
from sparkdl_ring.config import CommConfig, RingConfig
from sparkdl_ring.errors import ConfigError, NotEnoughTasksError, TaskFailedError
from sparkdl_ring.launch import LaunchOptions
from sparkdl_ring.launch.board import Board
from sparkdl_ring.launch.preflight import check_slots
from sparkdl_ring.launch.spark import SparkLauncher
from sparkdl_ring.store import open_store

pytestmark = [pytest.mark.spark, pytest.mark.multi]


def gone(pid):
    return not Path(f"/proc/{pid}").exists()


def wait_until(condition, what, patience_s=20.0):
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_more_ranks_than_slots_are_refused_at_once(spark):
    start = time.monotonic()
    with pytest.raises(NotEnoughTasksError, match=r"num_workers is 5.*4 task"):
        run(print, num_workers=5, launcher=SparkLauncher(spark))
    with pytest.raises(NotEnoughTasksError):
        check_slots(spark, 5)
    assert time.monotonic() - start < 2
    check_slots(spark, 4)


def test_the_active_session_and_its_settings_are_found(spark):
    spark.conf.set("spark.sparkdl_ring.comm.timeout_s", "23")
    try:

        def work():
            from sparkdl_ring import current

            return current().timeout_s

        assert run(work, num_workers=1) == [23.0]
    finally:
        spark.conf.unset("spark.sparkdl_ring.comm.timeout_s")


def test_every_task_gets_a_fresh_worker_and_leaves_nothing(spark):
    """LOG-145: an ordinary job before, between and after; other world sizes."""

    def dirty(rows):
        from sparkdl_ring import config

        with_mark = config.scoped_environment({"RING_TEST_MARK": "1"})
        with_mark.__enter__()
        yield from rows

    def work():
        import random

        from sparkdl_ring import config, current

        comm = current()
        found = config.environment().get("RING_TEST_MARK")
        config.scoped_environment({"RING_TEST_MARK": "2"}).__enter__()
        return comm.rank, comm.size, found, os.getpid(), random.random()

    launcher = SparkLauncher(spark)
    first = run(work, num_workers=2, launcher=launcher)
    second = run(work, num_workers=3, launcher=launcher)
    assert [r[:3] for r in first + second] == [(0, 2, None), (1, 2, None), *((r, 3, None) for r in range(3))]
    assert len({r[3] for r in first + second}) == 5
    assert spark.range(10).mapInArrow(dirty, "id long").count() == 10


def test_failures_and_arrivals_are_left_on_the_board(spark, tmp_path):
    store = open_store(str(tmp_path / "with space #1"))

    def work():
        raise ValueError("bad")

    options = LaunchOptions(board=store, board_path="runs/r1/board")
    with pytest.raises(TaskFailedError):
        SparkLauncher(spark).run(work, (), {}, 1, options)
    board = Board(store, "runs/r1/board")
    assert board.arrived() == {0}
    assert [record.summary for record in board.failures()] == ["ValueError: bad"]


def test_without_a_board_the_message_carries_the_exception(spark, monkeypatch):
    monkeypatch.setattr("sparkdl_ring.launch.spark._shares_disk", lambda spark: False)

    def work():
        from sparkdl_ring import current

        comm = current()
        if comm.rank == 1:
            raise KeyError('it\'s\n"bad" \\ \u00e9')
        comm.barrier()

    with pytest.raises(TaskFailedError, match="KeyError") as caught:
        run(work, num_workers=3, launcher=SparkLauncher(spark))
    assert caught.value.rank == 1
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.__cause__.args == ('it\'s\n"bad" \\ \u00e9',)
    assert "in work" in caught.value.remote_traceback


def test_a_large_function_is_refused_with_what_to_do(spark):
    data = bytes(70_000_000)
    with pytest.raises(ConfigError, match="store"):
        run(lambda: len(data), num_workers=1, launcher=SparkLauncher(spark))


def test_ctrl_c_cancels_the_job_and_ends_the_workers(spark, tmp_path):
    def work():
        from sparkdl_ring import rank

        (tmp_path / f"draft-{rank()}").write_text(str(os.getpid()))
        (tmp_path / f"draft-{rank()}").replace(tmp_path / f"pid-{rank()}")
        time.sleep(600)

    files = [tmp_path / f"pid-{rank}" for rank in range(2)]
    pressed: list[float] = []

    def press():
        wait_until(lambda: all(f.exists() for f in files), "the ranks did not start", 60)
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    # PySpark's own handler would cancel every job of the session; Python's is what a plain script has.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    finger = threading.Thread(target=press)
    try:
        finger.start()
        with pytest.raises(KeyboardInterrupt):
            run(work, num_workers=2, launcher=SparkLauncher(spark))
        assert time.monotonic() - pressed[0] < 5
    finally:
        signal.signal(signal.SIGINT, before)
        finger.join()
    pids = [int(file.read_text()) for file in files]
    wait_until(lambda: all(map(gone, pids)), "workers are left")


def test_two_gangs_at_once_do_not_meet(spark):
    """LOG-108: two runs of two ranks on four slots."""
    launcher = SparkLauncher(spark)
    answers = {}

    def work(tag):
        from sparkdl_ring import current

        return current().allgather_object(tag)

    def one(tag):
        answers[tag] = run(work, tag, num_workers=2, launcher=launcher)

    threads = [threading.Thread(target=one, args=(tag,)) for tag in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {tag: [[tag, tag]] * 2 for tag in "ab"}


def test_dynamic_allocation_is_refused(spark):
    class Conf:
        def get(self, name, default):
            return "true" if name == "spark.dynamicAllocation.enabled" else spark.conf.get(name, default)

    class Session:
        conf = Conf()
        sparkContext = spark.sparkContext

    with pytest.raises(ConfigError, match="dynamicAllocation"):
        check_slots(Session(), 2)


def test_an_unknown_interface_is_refused_by_name(spark):
    config = RingConfig(comm=CommConfig(interface="eth9"))
    with pytest.raises(TaskFailedError, match=r"eth9.*present: .*lo") as caught:
        run(print, num_workers=2, launcher=SparkLauncher(spark), config=config)
    assert isinstance(caught.value.__cause__, ConfigError)
