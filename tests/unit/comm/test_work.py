"""Work: results are copied back once, by whoever notices first."""

from __future__ import annotations

import pytest

from sparkdl_ring.comm.shares import elements, open_shape, split
from sparkdl_ring.comm.work import Work


class FakeWork:
    def __init__(self, error=None):
        self.ready, self.error = False, error

    def wait(self, timeout_s=None):
        if not self.ready:
            raise TimeoutError("still running")
        if self.error:
            raise self.error

    def done(self):
        return self.ready


def test_the_result_is_copied_back_once():
    native, finished = FakeWork(), []
    work = Work(native, finish=lambda: finished.append(1))
    assert not work.done()
    with pytest.raises(TimeoutError):
        work.wait(0)
    native.ready = True
    assert work.done()
    work.wait()
    assert finished == [1]


def test_a_failure_is_raised_by_wait_and_copies_nothing():
    native, finished = FakeWork(ValueError("lost")), []
    native.ready = True
    work = Work(native, finish=lambda: finished.append(1))
    assert work.done()
    with pytest.raises(ValueError, match="lost"):
        work.wait()
    assert finished == []


@pytest.mark.parametrize("total", [0, 1, 5, 6, 7])
def test_shares_are_even_and_larger_first(total):
    rows = split(total, 3)
    assert sum(rows) == total
    assert rows == sorted(rows, reverse=True)
    assert rows[0] - rows[-1] <= 1
    assert elements(rows, (2, 3)) == [6 * n for n in rows]
    assert open_shape((2, 3)) == "(*, 2, 3)"
