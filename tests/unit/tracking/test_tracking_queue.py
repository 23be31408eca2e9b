"""Work behind the caller's back: in order, bounded, never fatal."""

from __future__ import annotations

import logging
import threading

from sparkdl_ring.tracking.queue import BackgroundQueue


def test_tasks_run_in_order_and_the_thread_ends():
    seen: list[int] = []
    queue = BackgroundQueue("test-queue")
    for i in range(100):
        queue.submit("add", lambda i=i: seen.append(i))
    assert queue.close(10) == 0
    assert seen == list(range(100))
    assert "test-queue" not in {t.name for t in threading.enumerate()}


def test_an_unused_queue_has_no_thread():
    queue = BackgroundQueue("test-unused")
    assert queue.drain(1)
    assert queue.close(1) == 0


def test_a_failure_is_one_warning_and_the_next_task_runs(caplog):
    seen: list[str] = []
    queue = BackgroundQueue("test-failing")
    with caplog.at_level(logging.WARNING):
        queue.submit("log epoch 3", lambda: 1 / 0)
        queue.submit("add", lambda: seen.append("after"))
        assert queue.close(10) == 0
    assert seen == ["after"]
    assert [r.getMessage() for r in caplog.records] == ["tracking: could not log epoch 3: division by zero"]


def test_a_stuck_server_holds_nobody_up_and_losses_are_counted():
    gate, busy = threading.Event(), threading.Event()

    def stuck() -> None:
        busy.set()
        gate.wait(30)

    queue = BackgroundQueue("test-stuck", capacity=3)
    queue.submit("wait", stuck)
    busy.wait(10)
    for _ in range(5):
        queue.submit("add", lambda: None)
    assert not queue.drain(0.01)
    assert queue.close(0.01) == 1 + 3 + 2
    gate.set()


def test_a_closed_queue_can_be_used_again():
    seen: list[int] = []
    queue = BackgroundQueue("test-again")
    queue.submit("add", lambda: seen.append(1))
    queue.close(10)
    queue.submit("add", lambda: seen.append(2))
    queue.close(10)
    assert seen == [1, 2]
